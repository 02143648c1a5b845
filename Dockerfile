# One image, both roles: with --proxy-endpoints (or the argument "controller") the controller, otherwise the proxy.
# First version: it runs the sources as they are (type stripping). A bundled image comes with the packaging work.
FROM docker.io/cloudflare/cloudflared:2026.8.2 AS cloudflared

FROM docker.io/library/node:26-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --omit=optional --ignore-scripts

FROM docker.io/library/node:26-bookworm-slim
WORKDIR /app
ENV NODE_ENV=production
COPY --from=dependencies /app/node_modules node_modules
COPY --from=cloudflared /usr/local/bin/cloudflared /usr/local/bin/cloudflared
COPY package.json main.ts ./
COPY controller controller
COPY proxy proxy
COPY LICENSE ./
USER 65534:65534
ENTRYPOINT ["node", "--disable-warning=ExperimentalWarning", "main.ts"]
