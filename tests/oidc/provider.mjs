// An OpenID provider on a free loopback port, for the end-to-end tests. Prints its issuer URL as one line and
// runs until its stdin ends. Clients that ask for tokens by their own credentials: `rs256` and `es256`, after the
// algorithm of the tokens that they get. Clients that send people to a login page register themselves.
import { createServer } from 'node:http';
import { generateKeyPairSync } from 'node:crypto';
import { Provider } from 'oidc-provider';

const [secret] = process.argv.slice(2);
const key = (kid, alg, type, options) => ({
  ...generateKeyPairSync(type, options).privateKey.export({ format: 'jwk' }), kid, alg, use: 'sig',
});
const keys = [
  key('rsa', 'RS256', 'rsa', { modulusLength: 2048 }),
  key('ec', 'ES256', 'ec', { namedCurve: 'P-256' }),
];
const machine = (id) => ({
  client_id: id, client_secret: secret, grant_types: ['client_credentials'], redirect_uris: [], response_types: [],
});
const algorithm = (client) => (client.clientId === 'es256' ? 'ES256' : 'RS256');

const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [machine('rs256'), machine('es256')],
    jwks: { keys },
    scopes: ['openid', 'offline_access', 'memory:read', 'memory:write', 'memory:admin'],
    claims: { email: ['email'] },
    // Whoever logs in is known by the name given.
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id, email: `${id}@people.example` }) }),
    extraTokenClaims: (_context, token) => (token.accountId ? { email: `${token.accountId}@people.example` } : undefined),
    features: {
      clientCredentials: { enabled: true },
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        // A token is for the resource that the client names.
        getResourceServerInfo: (_context, resource, client) => ({
          scope: 'memory:read memory:write memory:admin',
          audience: resource,
          accessTokenTTL: 600,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: algorithm(client) } },
        }),
      },
    },
    ttl: { ClientCredentials: 600, AccessToken: 600, Grant: 600, Session: 600, Interaction: 600 },
  });
  provider.on('server_error', (_context, error) => console.error(error));
  server.on('request', provider.callback());
  console.log(issuer);
});
process.stdin.resume().on('end', () => process.exit());
