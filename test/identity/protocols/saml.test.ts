import { describe, expect, it } from 'vitest'
import {
  type AssertionContent,
  answer,
  assertionXml,
  IDP_ID,
  OUR_ID,
  requestIn,
  responseXml,
  SHA1,
  signed,
} from '../../support/identity/protocols/identity-provider.ts'
import { base64, loggedIn, useSamlServer } from '../../support/identity/protocols/saml-server.ts'
import { HAS_OPENSSL } from '../../support/realtime/diameter/certificates.ts'

describe.skipIf(!HAS_OPENSSL)('login by SAML (needs openssl)', () => {
  const world = useSamlServer()
  const { opened, assertionFor, refused } = world
  const response = (content: AssertionContent) => answer(content, world.provider())
  /** A response to a new login, in which one value is wrong. */
  const wrong = async (more: Partial<AssertionContent>) =>
    response(assertionFor(await world.login(), more))

  it('lets in users that the provider has logged in, with roles by the map', async () => {
    const done = await loggedIn(world)
    expect(done.headers.get('location')).toBe('/')
    expect(done.headers.get('set-cookie')).toBe(`tollgate=session-${opened.length}`)
    expect(opened.at(-1)).toEqual({
      id: 'saml:corp:ada@example.net',
      name: 'ada@example.net',
      roles: ['read', 'write'],
    })
    const record = (await world.audited()).at(-1)
    expect(record).toMatchObject({
      collection: 'login',
      type: 'login',
      key: 'login_ada@example.net',
      ip: '127.0.0.1',
      new: { protocol: 'saml', provider: 'corp', roles: ['read', 'write'] },
    })
  })

  it('sends the provider the request that its settings demand', async () => {
    const sent = await world.get('/auth/saml/corp/login')
    const location = sent.headers.get('location') ?? ''
    expect(location.startsWith('https://idp.example.net/sso?SAMLRequest=')).toBe(true)
    const { xml } = requestIn(location)
    expect(xml).toContain('AssertionConsumerServiceURL="https://tollgate.example.net/auth/saml/')
    expect(xml).toContain(`>${OUR_ID}</saml:Issuer>`)
    expect(xml).not.toContain('RequestedAuthnContext')
    expect(sent.headers.get('cache-control')).toBe('no-store')
  })

  it('publishes the metadata that providers need', async () => {
    const metadata = await world.get('/auth/saml/corp/metadata')
    expect(metadata.headers.get('content-type')).toContain('application/samlmetadata+xml')
    const text = await metadata.text()
    expect(text).toContain(`entityID="${OUR_ID}"`)
    expect(text).toContain('Location="https://tollgate.example.net/auth/saml/corp/acs"')
  })

  it('begins by the login route, too: with a page of the node', async () => {
    const redirect = 'https://tollgate.example.net/auth/saml/corp/login'
    expect(await world.begin(undefined)).toEqual({ redirect })
    expect(await world.begin('corp')).toEqual({ redirect })
    expect(await world.begin('none')).toBe('unknown')
  })

  it('refuses assertions that have expired or are not valid yet, within a clock skew', async () => {
    const { nowMs } = world
    await refused(await wrong({ notOnOrAfterMs: nowMs - 60_000 }), /it has expired/)
    await refused(await wrong({ notBeforeMs: nowMs + 60_001 }), /it is not valid yet/)
    await loggedIn(world, { notOnOrAfterMs: nowMs - 59_999 })
    await loggedIn(world, { notBeforeMs: nowMs + 60_000 })
  })

  it('accepts a response once', async () => {
    const begun = await world.login()
    const xml = response(assertionFor(begun))
    expect((await world.accepted(xml, begun)).status).toBe(303)
    await refused(xml, /answers no pending request/)
    // The same request, with another assertion.
    await refused(response(assertionFor(begun)), /answers no pending request/)
    expect((await world.get('/auth/saml/corp/done', begun.cookie)).status).toBe(403)
  })

  it('accepts one of two concurrent responses', async () => {
    const begun = await world.login()
    const SAMLResponse = base64(response(assertionFor(begun)))
    const both = await Promise.all([world.post({ SAMLResponse }), world.post({ SAMLResponse })])
    expect(both.map(({ status }) => status).sort()).toEqual([303, 403])
  })

  it('refuses responses for others: audience, recipient, destination, issuer', async () => {
    await refused(await wrong({ audience: 'https://other.example.net' }), /another audience/)
    const other = 'https://other.example.net/auth/saml/corp/acs'
    await refused(await wrong({ recipient: other }), /another recipient/)
    await refused(await wrong({ destination: other }), /another destination/)
    await refused(await wrong({ issuer: `${IDP_ID}2` }), /another issuer/)
  })

  it('refuses responses to another request, or to none', async () => {
    const [mine, other] = [await world.login(), await world.login()]
    await refused(
      response(assertionFor(mine, { confirmedFor: other.id })),
      /answers another request/,
    )
    await refused(response(assertionFor(mine, { confirmedFor: null })), /answers another request/)
    await refused(response(assertionFor({ id: '_never' })), /answers no pending request/)
    await refused(response(assertionFor(null)), /it is unsolicited/)
  })

  it('opens the session in the browser that began the login, and in no other', async () => {
    const [attacker, victim] = [await world.login(), await world.login()]
    const SAMLResponse = base64(response(assertionFor(attacker)))
    expect((await world.post({ SAMLResponse })).status).toBe(303)
    const sessions = opened.length
    for (const cookie of [victim.cookie, '__Host-tollgate_saml=x', undefined]) {
      const done = await world.get('/auth/saml/corp/done', cookie)
      expect([done.status, done.headers.get('set-cookie')]).toEqual([403, null])
    }
    expect(opened.length).toBe(sessions)
  })

  it('separates the logins of two tabs, with one cookie', async () => {
    const first = await world.login('?return_to=/first')
    const second = await world.login('?return_to=/second', first.cookie)
    expect(second.cookie).toBe(first.cookie)
    for (const [begun, path] of [
      [first, '/first'],
      [second, '/second'],
    ] as const) {
      const done = await world.accepted(response(assertionFor(begun)), begun)
      expect(done.headers.get('location')).toBe(path)
    }
  })

  it('refuses a user without a role', async () => {
    await refused(await wrong({ roles: ['guest'] }), /the user has no role here/)
    await refused(await wrong({ roles: [] }), /the user has no role here/)
    await refused(await wrong({ roles: ['STAFF'] }), /the user has no role here/)
  })

  it('refuses a user without a name, or with one that cannot be displayed', async () => {
    await refused(await wrong({ nameId: '' }), /it names no user/)
    await refused(await wrong({ nameId: 'ada&#10;root' }), /it names no user/)
    await refused(await wrong({ nameId: 'a'.repeat(257) }), /it names no user/)
  })

  it('refuses a response without success', async () => {
    await refused(await wrong({ status: 'Responder' }), /did not log the user in/)
  })

  it('requires a signed assertion, or, where that is allowed, a signed response', async () => {
    const begun = await world.login()
    const content = assertionFor(begun)
    const unsigned = responseXml(content, assertionXml(content))
    await refused(unsigned, /it is not signed/)
    const around = signed(unsigned, 'Response', world.provider())
    await refused(around, /its signature is invalid/)
    await world.configure(world.settings({ want_assertions_signed: false }))
    await refused(unsigned, /it is not signed/)
    expect((await world.accepted(around, begun)).status).toBe(303)
    // A response whose own signature is invalid is refused even where that signature is optional.
    const next = assertionFor(await world.login())
    const both = signed(response(next), 'Response', world.stranger())
    await refused(both, /its signature is invalid/)
    await world.configure(world.settings({ want_response_signed: true }))
    await refused(response(assertionFor(await world.login())), /its signature is invalid/)
    await world.configure(world.settings())
  })

  it('refuses another signer, whose certificate comes with the signature', async () => {
    const content = assertionFor(await world.login())
    await refused(answer(content, world.stranger()), /its signature is invalid/)
  })

  it('accepts any of the certificates of a provider that changes its key', async () => {
    const { stranger, provider } = world
    await world.configure(world.settings({ idp_certs: [stranger().cert, provider().cert] }))
    await loggedIn(world)
    const bare = provider().cert.replace(/-----[A-Z ]+-----|\n/g, '')
    await world.configure(world.settings({ idp_certs: [bare] }))
    await loggedIn(world)
    await world.configure(world.settings())
  })

  it('refuses SHA-1', async () => {
    const content = assertionFor(await world.login())
    const assertion = assertionXml(content)
    const sign = (algorithms: typeof SHA1) =>
      responseXml(content, signed(assertion, 'Assertion', world.provider(), algorithms))
    const sha256 = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256'
    await refused(sign(SHA1), /an algorithm of its signature is not allowed/)
    await refused(sign({ ...SHA1, signature: sha256 }), /an algorithm of its signature/)
  })

  it('redirects the browser to paths of the node only', async () => {
    const attacks = ['https://evil.example', '//evil.example', '/\\evil.example', '/../\t/evil']
    for (const attack of [...attacks, '/.//evil.example', 'evil', 'javascript:alert(1)', '']) {
      const begun = await world.login(`?return_to=${encodeURIComponent(attack)}`)
      const done = await world.accepted(response(assertionFor(begun)), begun)
      expect(done.headers.get('location')).toBe('/')
    }
  })

  it('accepts unsolicited responses only where that is allowed, and once', async () => {
    await world.configure(world.settings({ allow_unsolicited: true, return_url: '/app' }))
    const post = (xml: string, RelayState: string) =>
      world.post({ SAMLResponse: base64(xml), RelayState })
    for (const [state, path] of [
      ['/x?y=1', '/x?y=1'],
      ['https://evil.example/', '/app'],
    ] as const) {
      const done = await post(response(assertionFor(null)), String(state))
      expect([done.status, done.headers.get('location')]).toEqual([303, path])
    }
    const xml = response(assertionFor(null))
    expect((await post(xml, '')).status).toBe(303)
    await refused(xml, /it has already been used/)
    // A response to a request is checked as strictly.
    await refused(response(assertionFor({ id: '_never' })), /answers no pending request/)
    await refused(
      response(assertionFor(null, { confirmedFor: '_never' })),
      /answers another request/,
    )
    await world.configure(world.settings())
  })

  it('reads forms only, with one response, up to a limit', async () => {
    const SAMLResponse = base64(response(assertionFor(await world.login())))
    const twice = new URLSearchParams([
      ['SAMLResponse', SAMLResponse],
      ['SAMLResponse', SAMLResponse],
    ])
    for (const form of [twice, {}, { SAMLResponse: '<xml/>' }, { SAMLResponse: '/////w==' }]) {
      expect((await world.post(form)).status).toBe(403)
    }
    expect((await world.post({ SAMLResponse: 'A'.repeat(256 * 1024) })).status).toBe(413)
    const headers = { 'content-type': 'application/json' }
    const json = { method: 'POST', headers, body: JSON.stringify({ SAMLResponse }) }
    expect((await fetch(`${world.url()}/auth/saml/corp/acs`, json)).status).toBe(415)
  })

  it('records what was refused, and no assertion', async () => {
    await refused(await wrong({ roles: ['guest'], nameId: 'mallory@example.net' }), /no role/)
    const reason = 'the user has no role here'
    const ofReason = ({ new: after }: { new: unknown }) => JSON.stringify(after).includes(reason)
    const records = (await world.audited()).filter(ofReason)
    expect(records).toMatchObject([
      {
        collection: 'login',
        type: 'login_failed',
        key: 'login_corp',
        new: { protocol: 'saml', provider: 'corp', reason },
        count: expect.any(Number),
      },
    ])
    expect(world.logged()).not.toMatch(/mallory|Assertion|SAMLResponse=/)
  })

  it('does not exist where it is not configured', async () => {
    await world.configure()
    for (const path of ['login', 'done', 'metadata']) {
      expect((await world.get(`/auth/saml/corp/${path}`)).status).toBe(404)
    }
    expect((await world.post({ SAMLResponse: 'AAAA' })).status).toBe(404)
    await world.configure(world.settings())
    expect((await world.get('/auth/saml/other/login')).status).toBe(404)
    expect((await world.get('/auth/saml/__proto__/login')).status).toBe(404)
  })
})
