// The demo gRPC service and its client. Both messages have one string field, so the wire format is written by hand (see greeter.proto).
import grpc from '@grpc/grpc-js';

/** Protobuf: field 1, length-delimited. Names of up to 127 bytes are enough for a demo. */
const encode = (text: string): Buffer => Buffer.concat([Buffer.from([0x0a, Buffer.byteLength(text)]), Buffer.from(text)]);
const decode = (bytes: Buffer): string => bytes.subarray(2).toString();

const method = (path: string, responseStream: boolean): grpc.MethodDefinition<string, string> => ({
  path,
  requestStream: false,
  responseStream,
  requestSerialize: encode,
  requestDeserialize: decode,
  responseSerialize: encode,
  responseDeserialize: decode,
});

// Errors reach whoever calls; the library would write them to the terminal as well.
grpc.setLogVerbosity(grpc.logVerbosity.NONE);

const service = { hello: method('/demo.Greeter/Hello', false), helloStream: method('/demo.Greeter/HelloStream', true) };

/** Serves until `forceShutdown`; rejects when the port is taken. */
export async function startGreeter(port: number): Promise<{ readonly server: grpc.Server; readonly port: number }> {
  const server = new grpc.Server();
  server.addService(service, {
    hello: ((call, callback) => callback(null, `Hello, ${call.request}!`)) satisfies grpc.handleUnaryCall<string, string>,
    helloStream: ((call) => {
      for (const greeting of ['Hello', 'Hola', 'Salut']) call.write(`${greeting}, ${call.request}!`);
      call.end();
    }) satisfies grpc.handleServerStreamingCall<string, string>,
  });
  const bound = await new Promise<number>((resolve, reject) => {
    const credentials = grpc.ServerCredentials.createInsecure();
    server.bindAsync(`127.0.0.1:${port}`, credentials, (error, at) => (error ? reject(error) : resolve(at)));
  });
  return { server, port: bound };
}

export interface GreeterTarget {
  /** `ip:port` to connect to. */
  readonly address: string;
  /** Name that the certificate and the route are for. */
  readonly host: string;
  readonly ca: Buffer;
}

/** One unary and one streaming call over TLS; rejects with the gRPC status. */
export async function greet(target: GreeterTarget, name: string): Promise<readonly string[]> {
  const client = new grpc.Client(target.address, grpc.credentials.createSsl(target.ca), {
    'grpc.ssl_target_name_override': target.host,
    'grpc.default_authority': target.host,
    // The edge is on this machine, whatever https_proxy says.
    'grpc.enable_http_proxy': 0,
  });
  const deadline = { deadline: Date.now() + 10_000 };
  try {
    const unary = new Promise<string>((resolve, reject) => {
      const { path, requestSerialize, responseDeserialize } = service.hello;
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, name, deadline, (error, reply) =>
        error ? reject(error) : resolve(reply ?? ''),
      );
    });
    const answers = [await unary];
    const { path, requestSerialize, responseDeserialize } = service.helloStream;
    for await (const reply of client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, name, deadline))
      answers.push(String(reply));
    return answers;
  } finally {
    client.close();
  }
}
