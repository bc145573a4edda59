# Builds an image from the Debian package: docker build -t emplace . && docker run --rm emplace run quickstart
FROM debian:bookworm AS build
WORKDIR /source
COPY . .
RUN .ci/setup build package \
 && cmake --preset release \
 && cmake --build --preset release --target package

FROM debian:bookworm-slim
RUN --mount=type=bind,from=build,source=/source/build/release/packages,target=/packages \
    apt-get update \
 && apt-get install -y --no-install-recommends /packages/emplace_*.deb \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --uid 1000 emplace
USER 1000
WORKDIR /home/emplace
ENTRYPOINT ["emplace"]
CMD ["help"]
