// Connector tokens, for those who talk to Cloudflare about tunnels.
export { isSameConnector } from '../graph/token.ts';
