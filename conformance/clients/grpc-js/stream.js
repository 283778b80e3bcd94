// One ModelStreamInfer call: sends one message and counts the responses.
// Usage: stream.js ADDRESS REQUEST_FILE      prints the number of responses; fails if the call fails or a response is an error
const fs = require('fs');
const grpc = require('@grpc/grpc-js');

const METHOD = '/inference.GRPCInferenceService/ModelStreamInfer';
const INFER_RESPONSE = (2 << 3) | 2; // the tag of ModelStreamInferResponse.infer_response; error_message has another

const [address, request] = process.argv.slice(2);
const bytes = (message) => message;
const client = new grpc.Client(address, grpc.credentials.createInsecure());
const call = client.makeBidiStreamRequest(METHOD, bytes, bytes);
let answers = 0;
call.on('data', (answer) => {
  if (answer[0] !== INFER_RESPONSE) throw new Error(answer.toString());
  answers++;
});
call.on('error', (failure) => {
  console.error(`${failure} after ${answers} answers`);
  process.exit(1);
});
call.on('end', () => {
  console.log(answers);
  client.close();
});
call.write(fs.readFileSync(request));
call.end();
