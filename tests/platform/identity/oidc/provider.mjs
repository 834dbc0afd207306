// A real OpenID Connect provider for the tests: it signs whoever /__person names in at once, and lies as /__fault says.
import http from 'node:http';
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT, decodeJwt } from 'jose';
import Provider from 'oidc-provider';

const [port, callback] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;
const { privateKey } = await generateKeyPair('RS256', { extractable: true });
const jwk = { ...(await exportJWK(privateKey)), kid: 'tests', use: 'sig', alg: 'RS256' };
const other = await generateKeyPair('RS256');
let person = {};
let fault = '';

const provider = new Provider(issuer, {
  clients: [{ client_id: 'gridloom', client_secret: 'secret of the client', redirect_uris: [callback] }],
  jwks: { keys: [jwk] },
  cookies: { keys: ['tests'] },
  pkce: { required: () => true },
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'roles'] },
  features: { devInteractions: { enabled: false } },
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ ...person, sub: id }) }),
  ttl: { AccessToken: 600, IdToken: 600, Grant: 600, Interaction: 600, Session: 600 },
});

async function lie(token) {
  const claims = decodeJwt(token);
  const now = Math.floor(Date.now() / 1000);
  if (fault === 'issuer') claims.iss = 'https://elsewhere.example';
  if (fault === 'audience') claims.aud = 'somebody-else';
  if (fault === 'nonce') claims.nonce = 'another';
  if (fault === 'expired') Object.assign(claims, { iat: now - 7200, exp: now - 3600 });
  if (fault === 'unsigned') return new UnsecuredJWT(claims).encode();
  if (fault === 'subject') delete claims.sub;
  if (fault === 'symmetric') {
    return new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode('secret of the client'.padEnd(32, '!')));
  }
  const key = fault === 'key' ? other.privateKey : privateKey;
  return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'tests' }).sign(key);
}

provider.use(async (ctx, next) => {
  await next();
  if (fault && ctx.oidc?.route === 'token' && ctx.body?.id_token) {
    ctx.body = { ...ctx.body, id_token: await lie(ctx.body.id_token) };
  }
});

const serve = provider.callback();

async function interact(request, response) {
  const details = await provider.interactionDetails(request, response);
  const accountId = person.sub;
  const grant = new provider.Grant({ accountId, clientId: details.params.client_id });
  grant.addOIDCScope('openid email profile');
  const grantId = await grant.save();
  await provider.interactionFinished(request, response, { login: { accountId, remember: false }, consent: { grantId } });
}

http
  .createServer(async (request, response) => {
    if (request.url === '/__person' || request.url === '/__fault') {
      const chunks = [];
      for await (const chunk of request) chunks.push(chunk);
      const told = JSON.parse(Buffer.concat(chunks).toString());
      if (request.url === '/__person') person = told;
      else fault = told.fault;
      response.end('{}');
    } else if (request.url.startsWith('/interaction/')) {
      await interact(request, response);
    } else {
      serve(request, response);
    }
  })
  .listen(Number(port), '127.0.0.1', () => console.log('ready'));
