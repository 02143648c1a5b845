# One image, both roles: with --proxy-endpoints (or the argument "controller") the controller, otherwise the proxy.
#
# It needs no root, and writes nowhere but in /tmp and (the proxy's last good configuration) /var/run/cftunnel:
#   docker run --read-only --tmpfs /tmp --tmpfs /var/run/cftunnel:uid=65534,mode=0700 …
FROM docker.io/cloudflare/cloudflared:2026.8.2 AS cloudflared

FROM docker.io/library/node:26-bookworm-slim AS bundle
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY main.ts ./
COPY controller controller
COPY proxy proxy
COPY tools/bundle.ts tools/bundle.ts
RUN node tools/bundle.ts dist

FROM docker.io/library/node:26-bookworm-slim
# tini collects what a killed connector leaves behind: Node, as the first process of a container, does not.
# The certificates are for cloudflared, which asks for the edge over TLS where plain DNS fails.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends ca-certificates tini \
  && rm -rf /var/lib/apt/lists/* \
  && install -d -o 65534 -g 65534 -m 0700 /run/cftunnel
WORKDIR /app
ENV NODE_ENV=production
COPY --from=cloudflared /usr/local/bin/cloudflared /usr/local/bin/cloudflared
COPY --from=bundle /app/dist ./
COPY LICENSE ./
USER 65534:65534
# A small young generation: requests die young, and three times 16 MB of it would be a third of the proxy's memory.
ENTRYPOINT ["/usr/bin/tini", "--", "node", "--max-semi-space-size=4", "main.mjs"]
