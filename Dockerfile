# One image, both roles: with --proxy-endpoints (or the argument "controller") the controller, otherwise the proxy.
# First version: it runs the sources as they are (type stripping). A bundled image comes with the packaging work.
#
# It needs no root, and writes nowhere but in /tmp and (the proxy's last good configuration) /var/run/cftunnel:
#   docker run --read-only --tmpfs /tmp --tmpfs /var/run/cftunnel:uid=65534,mode=0700 …
FROM docker.io/cloudflare/cloudflared:2026.8.2 AS cloudflared

FROM docker.io/library/node:26-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --omit=optional --ignore-scripts

FROM docker.io/library/node:26-bookworm-slim
# tini collects what a killed connector leaves behind: Node, as the first process of a container, does not.
# The certificates are for cloudflared, which asks for the edge over TLS where plain DNS fails.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends ca-certificates tini \
  && rm -rf /var/lib/apt/lists/* \
  && install -d -o 65534 -g 65534 -m 0700 /run/cftunnel
WORKDIR /app
ENV NODE_ENV=production
COPY --from=dependencies /app/node_modules node_modules
COPY --from=cloudflared /usr/local/bin/cloudflared /usr/local/bin/cloudflared
COPY package.json main.ts LICENSE ./
COPY controller controller
COPY proxy proxy
USER 65534:65534
ENTRYPOINT ["/usr/bin/tini", "--", "node", "--disable-warning=ExperimentalWarning", "main.ts"]
