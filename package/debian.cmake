# CPack runs this on the files that it is about to pack: Debian wants some of them elsewhere, or compressed.
cmake_minimum_required(VERSION 3.25)
set(share ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/program/usr/share)
file(RENAME ${share}/zsh/site-functions ${share}/zsh/vendor-completions)
file(RENAME ${share}/doc/emplace/CHANGELOG.md ${share}/doc/emplace/changelog)
execute_process(COMMAND gzip -9n ${share}/man/man1/emplace.1 ${share}/doc/emplace/changelog COMMAND_ERROR_IS_FATAL ANY)
foreach(folder IN ITEMS Unspecified/usr/share/doc/emplace-dev mpi/usr/share/doc/emplace-mpi)
  file(COPY ${share}/doc/emplace/copyright DESTINATION ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${folder})
endforeach()
