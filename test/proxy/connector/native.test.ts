// The native connector carries everything that a tunnel must carry.
import { grpcSuite } from './suites/grpc.ts';
import { httpSuite } from './suites/http.ts';
import { streamsSuite } from './suites/streams.ts';
import { NATIVE } from './suites/tunnel.ts';

httpSuite(NATIVE);
streamsSuite(NATIVE);
grpcSuite(NATIVE);
