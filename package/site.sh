#!/bin/sh
# Builds the documentation as a site with search, build/site: package/site.sh [PROGRAM]
# PROGRAM writes the reference: ./emplace unless told otherwise, which builds itself where that is needed. A link that
# leads nowhere is an error.
set -eu

cd "$(dirname "$(readlink -f "$0")")/.."
.ci/setup site
pages=build/site-pages
rm -rf $pages
mkdir -p $pages/docs
"${1:-./emplace}" docs -o $pages/docs/reference
/usr/bin/mkdocs --quiet build --strict --clean -f package/mkdocs.yml
echo "site: build/site/index.html"
