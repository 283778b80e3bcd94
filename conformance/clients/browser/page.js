// What the page of the test does: calls gateways of another origin, and reports what it saw to its own server.
// Address: /?expect=allowed|foreign&gateway=URL[&gateway=URL...]
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { Code, createClient } from '@connectrpc/connect';
import { createGrpcWebTransport } from '@connectrpc/connect-web';
import { GrpcWebClientBase, MethodDescriptor, MethodType } from 'grpc-web';
import {
  GRPCInferenceService,
  ModelInferRequestSchema,
  ModelInferResponseSchema,
  ModelStreamInferResponseSchema,
} from './generated/inference_pb.js';

const NUMBERS = Array.from({ length: 16 }, (_, i) => i);
const INPUTS = ['INPUT0', 'INPUT1'];
const SERVICE = '/inference.GRPCInferenceService/';

function expect(condition, seen) {
  if (!condition) throw new Error(`unexpected: ${JSON.stringify(seen)}`);
}

function message(model, id) {
  return create(ModelInferRequestSchema, {
    modelName: model,
    id,
    inputs: INPUTS.map((name) => ({ name, datatype: 'INT32', shape: [1n, 16n], contents: { intContents: NUMBERS } })),
  });
}

/** OUTPUT0 is the sum of both inputs, raw or not. */
function expectSum(response) {
  const [raw] = response.rawOutputContents;
  const sum = raw
    ? new DataView(raw.buffer, raw.byteOffset).getInt32(8, true)
    : response.outputs[0].contents.intContents[2];
  expect(sum === 4, sum);
}

/** The error with which the attempt fails. */
async function failure(attempt) {
  const error = await attempt.then(() => null, (reason) => reason);
  expect(error !== null, 'no failure');
  return error;
}

/** REST, by fetch. */
function rest(gateway) {
  const json = (id) =>
    JSON.stringify({ id, inputs: INPUTS.map((name) => ({ name, datatype: 'INT32', shape: [1, 16], data: NUMBERS })) });
  const post = (path, body, headers = {}) =>
    fetch(gateway + path, { method: 'POST', body, headers: { 'Content-Type': 'application/json', ...headers } });
  return {
    'fetch: inference': async () => {
      const response = await post('/v2/models/simple/infer', json('one'), { 'X-Request-Id': 'page-1' });
      expect(response.headers.get('x-request-id') === 'page-1', [...response.headers]);
      const answer = await response.json();
      expect(answer.id === 'one' && answer.outputs[0].data[2] === 4, answer);
    },
    'fetch: server-sent events': async () => {
      const text = await (await post('/v2/models/simple/infer_stream', json('two'))).text();
      expect(text.startsWith('data: {') && text.includes('"id":"two"'), text);
    },
    'fetch: an error can be read': async () => {
      const response = await post('/v2/models/nothing/infer', json('three'));
      expect(response.status === 404 && (await response.json()).error.includes('nothing'), response.status);
    },
    'fetch: management is refused': async () => {
      const response = await post('/v2/repository/models/simple/unload', '{}');
      expect(response.status === 403 && (await response.json()).error, response.status);
    },
  };
}

/** gRPC-Web in its binary form, by Connect's client. */
function connect(gateway) {
  const client = createClient(GRPCInferenceService, createGrpcWebTransport({ baseUrl: gateway }));
  return {
    'connect-web: inference': async () => expectSum(await client.modelInfer(message('simple', 'one'))),
    'connect-web: stream': async () => {
      const ids = [];
      for await (const each of client.modelStreamInfer(message('simple', 'two'))) {
        expectSum(each.inferResponse);
        ids.push(each.inferResponse.id);
      }
      expect(ids.join() === 'two', ids);
    },
    'connect-web: an error can be read': async () => {
      const error = await failure(client.modelInfer(message('nothing', '')));
      expect(error.code === Code.NotFound && error.rawMessage.includes('nothing'), String(error));
    },
  };
}

function method(name, type, response) {
  return new MethodDescriptor(
    SERVICE + name,
    type,
    Object,
    Object,
    (request) => toBinary(ModelInferRequestSchema, request),
    (bytes) => fromBinary(response, bytes),
  );
}

const UNARY = method('ModelInfer', MethodType.UNARY, ModelInferResponseSchema);
const STREAMING = method('ModelStreamInfer', MethodType.SERVER_STREAMING, ModelStreamInferResponseSchema);

function infer(client, gateway, request) {
  return new Promise((resolve, reject) =>
    client.rpcCall(gateway + SERVICE + 'ModelInfer', request, {}, UNARY, (error, response) =>
      error ? reject(error) : resolve(response),
    ),
  );
}

/** gRPC-Web in the form that is given, by gRPC's own client. */
function official(gateway, format) {
  const client = new GrpcWebClientBase({ format });
  return {
    [`grpc-web, ${format}: inference`]: async () => expectSum(await infer(client, gateway, message('simple', 'one'))),
    [`grpc-web, ${format}: stream`]: () =>
      new Promise((resolve, reject) => {
        const ids = [];
        client
          .serverStreaming(gateway + SERVICE + 'ModelStreamInfer', message('simple', 'two'), {}, STREAMING)
          .on('data', (each) => ids.push(each.inferResponse.id))
          .on('error', reject)
          .on('end', () => (ids.join() === 'two' ? resolve() : reject(new Error(`unexpected: ${ids}`))));
      }),
    [`grpc-web, ${format}: an error can be read`]: async () => {
      const error = await failure(infer(client, gateway, message('nothing', '')));
      expect(error.code === Code.NotFound && error.message.includes('nothing'), String(error));
    },
  };
}

/** What the browser keeps from the page: neither a status nor a message can be seen. */
function blocked(gateway) {
  const json = { method: 'POST', body: '{}', headers: { 'Content-Type': 'application/json' } };
  const connected = createClient(GRPCInferenceService, createGrpcWebTransport({ baseUrl: gateway }));
  const kept = async (attempt) => {
    const error = await failure(attempt);
    expect(error instanceof TypeError && error.message === 'Failed to fetch', String(error));
  };
  return {
    'fetch: a response is kept from the page': () => kept(fetch(gateway + '/v2/health/live')),
    'fetch: inference is not sent': () => kept(fetch(gateway + '/v2/models/simple/infer', json)),
    'fetch: management is not sent': () => kept(fetch(gateway + '/v2/repository/models/simple/unload', json)),
    'connect-web: inference is not sent': async () => {
      const error = await failure(connected.modelInfer(message('nothing', '')));
      expect(error.code === Code.Unknown && error.rawMessage === 'Failed to fetch', String(error));
    },
    'grpc-web: inference is not sent': async () => {
      const error = await failure(infer(new GrpcWebClientBase({ format: 'text' }), gateway, message('nothing', '')));
      expect(error.code !== Code.NotFound && !error.message.includes('nothing'), String(error));
    },
  };
}

function checks(expected, gateway) {
  return expected === 'foreign'
    ? blocked(gateway)
    : { ...rest(gateway), ...connect(gateway), ...official(gateway, 'text'), ...official(gateway, 'binary') };
}

const parameters = new URLSearchParams(location.search);
const results = [];
for (const gateway of parameters.getAll('gateway')) {
  for (const [name, check] of Object.entries(checks(parameters.get('expect'), gateway))) {
    const problem = await check().then(() => null, (failure) => String(failure));
    results.push({ name: `${gateway} ${name}`, problem });
  }
}
await fetch('/result', { method: 'POST', body: JSON.stringify(results) });
