// The real cloudflared carries the same through the same edge, where there is one.
import { test } from 'node:test';
import { grpcSuite } from './suites/grpc.ts';
import { httpSuite } from './suites/http.ts';
import { streamsSuite } from './suites/streams.ts';
import { cloudflared, findCloudflared } from './suites/tunnel.ts';

const program = findCloudflared();
if (program === null) {
  test(
    'cloudflared through the edge double',
    { skip: 'no cloudflared: set CLOUDFLARED to the program or put it on PATH' },
    () => undefined,
  );
} else {
  const kind = cloudflared(program);
  httpSuite(kind);
  streamsSuite(kind);
  grpcSuite(kind);
}
