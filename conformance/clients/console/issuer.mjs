// An issuer of tokens: oidc-provider, on loopback. The client 'caller' with the secret 'secret' gets access tokens that are JSON Web
// Tokens for the audience 'isthmus', by client credentials.
// Usage: issuer.mjs PORT ALGORITHM KEY; KEY is a file with the private key, which is made if it does not exist.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { generateKeyPairSync } from 'node:crypto';
import Provider from 'oidc-provider';

const [port, algorithm, file] = process.argv.slice(2);
if (!existsSync(file)) {
  const { privateKey } = algorithm.startsWith('ES')
    ? generateKeyPairSync('ec', { namedCurve: { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' }[algorithm] })
    : generateKeyPairSync('rsa', { modulusLength: 2048 });
  writeFileSync(file, JSON.stringify({ ...privateKey.export({ format: 'jwk' }), alg: algorithm, use: 'sig' }), { mode: 0o600 });
}
const issuer = `http://127.0.0.1:${port}`;
const provider = new Provider(issuer, {
  clients: [
    {
      client_id: 'caller',
      client_secret: 'secret',
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
      id_token_signed_response_alg: algorithm,
    },
  ],
  jwks: { keys: [JSON.parse(readFileSync(file, 'utf8'))] },
  enabledJWA: { idTokenSigningAlgValues: [algorithm] },
  cookies: { keys: ['a key of the test'] },
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => 'urn:isthmus',
      getResourceServerInfo: () => ({
        scope: 'infer',
        audience: 'isthmus',
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: algorithm } },
      }),
    },
  },
});
provider.listen(Number(port), '127.0.0.1', () => console.log(`listening ${port}`));
