// node:http's two halves of an exchange, with a place for the exchange itself: listeners can be shared by all of them.
import { IncomingMessage, ServerResponse } from 'node:http';
import type { Exchange } from './exchange.ts';

export class FrontRequest extends IncomingMessage {
  exchange: Exchange | null = null;
}

export class FrontResponse extends ServerResponse<FrontRequest> {
  exchange: Exchange | null = null;
}
