# How to build and run it: docs/install.md, "Container".
# The image contains the npm package and its dependencies.

# Node.js 24 gets security fixes until April 2028. Source: nodejs/Release, "Release schedule".
# Releases pin the digest that the tag has at that time (.github/workflows/release.yml). A digest written here would be out of date
# with the next security fix. Pin your own builds with --build-arg NODE_IMAGE=node:24-slim@sha256:…
ARG NODE_IMAGE=node:24-slim

# The package is the same for every processor, so it is built on the builder's own.
FROM --platform=$BUILDPLATFORM ${NODE_IMAGE} AS package
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY . .
RUN npm pack && mkdir /package && tar -xzf askwatch-*.tgz -C /package --strip-components=1

FROM ${NODE_IMAGE} AS modules
WORKDIR /modules
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --omit=dev

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="Askwatch" \
      org.opencontainers.image.description="A chat bot for Slack and Discord that answers questions and watches your services" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="MIT"
# Askwatch writes only here, so the rest can be read-only.
RUN install --directory --owner=10001 --group=10001 --mode=0700 /data
WORKDIR /askwatch
COPY --from=modules /modules/node_modules ./node_modules
COPY --from=package /package ./
RUN ln -s /askwatch/dist/cli.js /usr/local/bin/askwatch
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 DATA_DIR=/data
USER 10001:10001
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/healthz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Node.js must be process 1, because that process gets the stop signal: no shell and no npm around it.
ENTRYPOINT ["node", "/askwatch/dist/cli.js"]
CMD ["start"]
