# Node 24 is maintained until April 2028; Node 20, for which uWebSockets.js on npm has binaries,
# ended in April 2026. On Node 24 HTTP is served in JavaScript, which is slower: README.md,
# "Configure and deploy", describes how to use the binaries of its author, which need the glibc of
# Debian 13 (trixie).
ARG NODE=24-trixie-slim

FROM node:${NODE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
COPY packages/embedded-mongo/package.json packages/embedded-mongo/package.json
COPY packages/client/package.json packages/client/package.json
RUN npm ci --no-audit --no-fund
COPY scripts/build.mjs scripts/build.mjs
COPY scripts/bundle.mjs scripts/bundle.mjs
COPY scripts/console.mjs scripts/console.mjs
COPY bin bin
COPY config config
COPY src src
COPY packages packages
RUN node scripts/build.mjs
RUN npm prune --omit=dev --no-audit --no-fund

FROM node:${NODE}
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/package.json package.json
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/bin bin
COPY --from=build /app/dist/config dist/config
COPY --from=build /app/dist/src dist/src
COPY LICENSE LICENSE
# Data of the control plane for its operator: the first password.
RUN install -d -o node -g node -m 700 /data
ENV TOLLGATE_DATA_DIR=/data
USER node
# Ports of charging and of the control plane. Both listen on loopback unless their host is set.
EXPOSE 8181 8182 3868
# For charging; the other roles have another port, or none.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", \
  "fetch('http://127.0.0.1:8181/health/ready').then((a) => process.exit(a.ok ? 0 : 1))"]
ENTRYPOINT ["node", "/app/bin/tollgate.mjs"]
CMD ["realtime"]
