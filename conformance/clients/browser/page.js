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

function expectSum(response) {
  // OUTPUT0 is the sum of both inputs.
  const sum = new DataView(response.rawOutputContents[0].slice().buffer).getInt32(8, true);
  expect(sum === 4, sum);
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
      const error = await client.modelInfer(message('nothing', '')).then(() => null, (failure) => failure);
      expect(error?.code === Code.NotFound && error.rawMessage.includes('nothing'), String(error));
    },
  };
}

/** gRPC-Web in the form that is given, by gRPC's own client. */
function official(gateway, format) {
  const client = new GrpcWebClientBase({ format });
  const method = (name, type, response) =>
    new MethodDescriptor(
      SERVICE + name,
      type,
      Object,
      Object,
      (request) => toBinary(ModelInferRequestSchema, request),
      (bytes) => fromBinary(response, bytes),
    );
  const unary = method('ModelInfer', MethodType.UNARY, ModelInferResponseSchema);
  const streaming = method('ModelStreamInfer', MethodType.SERVER_STREAMING, ModelStreamInferResponseSchema);
  const infer = (request) => client.thenableCall(gateway + SERVICE + 'ModelInfer', request, {}, unary);
  return {
    [`grpc-web, ${format}: inference`]: async () => expectSum(await infer(message('simple', 'one'))),
    [`grpc-web, ${format}: stream`]: () =>
      new Promise((resolve, reject) => {
        const ids = [];
        client
          .serverStreaming(gateway + SERVICE + 'ModelStreamInfer', message('simple', 'two'), {}, streaming)
          .on('data', (each) => ids.push(each.inferResponse.id))
          .on('error', reject)
          .on('end', () => (ids.join() === 'two' ? resolve() : reject(new Error(`unexpected: ${ids}`))));
      }),
    [`grpc-web, ${format}: an error can be read`]: async () => {
      const error = await infer(message('nothing', '')).then(() => null, (failure) => failure);
      expect(error?.code === Code.NotFound && error.message.includes('nothing'), String(error));
    },
  };
}

/** Whether the browser keeps the response from the page: then no status and no message can be seen. */
function blocked(name, attempt) {
  return [
    name + ' is blocked',
    async () => {
      const error = await attempt().then(() => null, (failure) => failure);
      expect(error !== null && !String(error).startsWith('Error: unexpected'), String(error));
    },
  ];
}

function checks(expected, gateway) {
  const all = {
    ...rest(gateway),
    ...connect(gateway),
    ...official(gateway, 'text'),
    ...official(gateway, 'binary'),
  };
  return expected === 'allowed'
    ? all
    : Object.fromEntries(Object.entries(all).map(([name, attempt]) => blocked(name, attempt)));
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
