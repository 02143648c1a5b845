// The guide's example: what a tenant writes to be reached at app.example.com, with the Service and endpoints behind it.
export const example = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata:
  name: tunnel
  namespace: tenant-example
spec:
  gatewayClassName: cloudflare-tunnel
  listeners:
    - name: https
      protocol: HTTPS
      port: 443
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  name: app
  namespace: tenant-example
spec:
  parentRefs:
    - name: tunnel
  hostnames:
    - app.example.com
  rules:
    - backendRefs:
        - name: app
          port: 80
`;

/** \app leads to the backend blue, \`other\` to green. */
export const services = `
apiVersion: v1
kind: Service
metadata:
  name: app
  namespace: tenant-example
spec:
  ports:
    - name: http
      port: 80
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: app-by-hand
  namespace: tenant-example
  labels:
    kubernetes.io/service-name: app
addressType: IPv4
endpoints:
  - addresses: [10.244.0.10]
ports:
  - name: http
    port: 9000
---
apiVersion: v1
kind: Service
metadata:
  name: other
  namespace: tenant-example
spec:
  ports:
    - name: http
      port: 80
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: other-by-hand
  namespace: tenant-example
  labels:
    kubernetes.io/service-name: other
addressType: IPv4
endpoints:
  - addresses: [10.244.0.11]
ports:
  - name: http
    port: 9000
`;
