/** Clients that charge with tokens. */
import { describe, expect, it } from 'vitest'
import { withoutClient } from '../../../src/catalog/clients/client-changes.ts'
import { createClientAuthenticator } from '../../../src/realtime/http/client-authenticator.ts'
import { openExpiringKeys } from '../../../src/store/expiring.ts'
import { openRedis } from '../../../src/store/redis.ts'
import { createTokens } from '../../../src/store/tokens.ts'
import {
  bearer,
  callersOf,
  change,
  clientServer,
  clientsNow,
  FORM,
  fetchGet,
  formText,
  fresh,
  HOUR_MS,
  JSON_TYPE,
  NOW_MS,
  signatureFor,
  silent,
  state,
  store,
  tokenOf,
  tokens,
  useClients,
} from '../../support/realtime/http/client-servers.ts'
import { KINDS } from '../../support/realtime/http/server-of.ts'
import { openSocket } from '../../support/realtime/http/socket.ts'
import { waitUntil } from '../../support/wait.ts'

useClients()

describe.each(KINDS)('a token: %s', (kind) => {
  it('is accepted in header, query or form, and its client owns the sessions', async () => {
    const { ask, arrivals, bodies } = await clientServer(kind)
    const token = await tokenOf('pgw')
    expect((await ask('', bearer(token))).status).toBe(200)
    expect((await ask(`?access_token=${token}`)).status).toBe(200)
    const body = `access_token=${token}&request=%7B%22a%22%3A1%7D`
    expect((await ask('', { headers: FORM, body })).status).toBe(200)
    expect(bodies).toEqual(['{}', '{}', '{"a":1}'])
    expect(arrivals).toMatchObject(
      Array.from({ length: 3 }, () => ({ origin: 'client:pgw', peer: 'client:pgw' })),
    )
    expect((await ask('', bearer(await tokenOf('boss')))).status).toBe(200)
    expect(arrivals.at(-1)).toMatchObject({ origin: 'client:boss' })
  })

  it('in the query is not part of the message there', async () => {
    const { ask, bodies } = await clientServer(kind)
    const query = `?file_type=pairs&a=1&access_token=${await tokenOf('pgw')}&b=2`
    expect((await fetchGet(ask, query)).status).toBe(200)
    expect(bodies).toEqual(['a=1&b=2'])
  })

  it('that is unknown, expired, revoked or of a deleted client is refused', async () => {
    const { ask, bodies, refused } = await clientServer(kind)
    const [ended, revoked, gone] = [
      await tokenOf('pgw', { expiresMs: NOW_MS }),
      await tokenOf('pgw'),
      await tokenOf('boss'),
    ]
    await tokens.access.revoke(revoked)
    state.list = withoutClient(state.list, { name: 'boss' }, change).list
    // A client that is created again with the same name is a new one.
    store({ name: 'boss', roles: ['admin'] })
    for (const token of ['0'.repeat(40), ended, revoked, gone]) {
      const { status, text, headers } = await ask('', bearer(token))
      expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
      expect(text).toContain('Malformed request: authorization has no key or token that is known')
      expect(text).not.toContain(token)
      expect((await ask(`?access_token=${token}`)).status).toBe(401)
    }
    for (const token of ['', 'x', 'A'.repeat(40), '0'.repeat(41), `${ended}&access_token=`]) {
      expect((await ask(`?access_token=${token}`)).status).toBe(401)
    }
    expect(bodies).toEqual([])
    expect(new Set(refused)).toEqual(new Set([' credentials']))
  })

  it('must be in one place', async () => {
    const { ask, bodies } = await clientServer(kind)
    const token = await tokenOf('pgw')
    // Also if the token is cached.
    expect((await ask('', bearer(token))).status).toBe(200)
    const { status, text } = await ask(`?access_token=${token}`, bearer(token))
    expect([status, bodies]).toEqual([401, ['{}']])
    expect(text).toContain('must be in one place')
  })

  it('needs the role charge: a client of the control plane alone does not charge', async () => {
    const { ask, bodies, refused } = await clientServer(kind)
    const { status, text } = await ask('', bearer(await tokenOf('crm')))
    expect(status).toBe(403)
    expect(text).toContain('client must have the role charge or admin')
    const user = { id: 'u1', name: 'anna' }
    expect((await ask('', bearer(await tokenOf('pgw', { user })))).status).toBe(403)
    expect([bodies, refused]).toEqual([[], ['client:crm role', 'client:pgw role']])
  })

  it('is checked if authentication is optional, and does not replace a wrong key', async () => {
    const { ask, arrivals } = await clientServer(kind, { mustAuthenticate: false })
    expect((await ask('')).status).toBe(200)
    expect((await ask(`?access_token=${'0'.repeat(40)}`)).status).toBe(401)
    const token = await tokenOf('pgw')
    const both = { headers: { ...JSON_TYPE, authorization: `Bearer ${token}`, 'x-api-key': 'no' } }
    expect((await ask('', both)).status).toBe(401)
    expect((await ask(`?access_token=${token}`)).status).toBe(200)
    expect(arrivals.map(({ origin }) => origin)).toEqual(['http', 'client:pgw'])
  })

  it('is cached for a second, and looked up once by concurrent requests', async () => {
    const { ask } = await clientServer(kind)
    const token = await tokenOf('pgw')
    const many = () => Promise.all(Array.from({ length: 8 }, () => ask('', bearer(token))))
    const open = state.blockStore()
    const asking = many()
    await waitUntil('the store is asked', () => state.lookups > 0)
    open()
    expect(new Set((await asking).map(({ status }) => status))).toEqual(new Set([200]))
    await many()
    expect(state.lookups).toBe(1)
    await tokens.access.revoke(token)
    state.elapsedMs = 999
    expect((await ask('', bearer(token))).status).toBe(200)
    state.elapsedMs = 1000
    expect((await ask('', bearer(token))).status).toBe(401)
    expect(state.lookups).toBe(2)
  })

  it('that is cached ends immediately with its client, its role, and its time', async () => {
    const { ask } = await clientServer(kind)
    const status = async (token: string) => (await ask('', bearer(token))).status
    const [pgw, boss] = [await tokenOf('pgw'), await tokenOf('boss')]
    expect([await status(pgw), await status(boss)]).toEqual([200, 200])
    store({ name: 'pgw', disabled: true })
    store({ name: 'boss', roles: ['read'] })
    expect([await status(pgw), await status(boss)]).toEqual([401, 403])
    store({ name: 'pgw', disabled: false })
    expect(await status(pgw)).toBe(200)
    state.nowMs = NOW_MS + HOUR_MS
    expect(await status(pgw)).toBe(401)
  })

  it('cannot be checked before clients are read or without Redis: an outage', async () => {
    const unread = await clientServer(kind, { callers: callersOf({}, false) })
    const token = await tokenOf('pgw')
    const { status, text } = await unread.ask('', bearer(token))
    expect([status, text.includes('clients were not read yet')]).toEqual([503, true])
    const away = openRedis(
      { url: 'redis://127.0.0.1:1', commandTimeoutMs: 100, connectTimeoutMs: 100 },
      silent,
    )
    const gone = openExpiringKeys(away, 'auth')
    const callers = createClientAuthenticator({
      now: () => ({ clients: clientsNow(), signature: { enabled: true, windowMs: 300_000 } }),
      open: async () => ({
        tokens: createTokens(gone).access,
        used: gone,
        close: () => away.close(),
      }),
      clock: { nowMs: () => NOW_MS },
      elapsedMs: () => 0,
      log: silent,
    })
    const { ask, bodies, refused } = await clientServer(kind, { callers })
    const down = await ask('', bearer(token))
    expect([down.status, down.headers.get('retry-after')]).toEqual([503, '1'])
    const sent = fresh()
    sent.set('_sig_', signatureFor(sent))
    expect((await ask(`?${formText(sent)}`)).status).toBe(503)
    expect([bodies, refused]).toEqual([[], [' unavailable', ' unavailable']])
    await callers.close()
  })

  it('is looked up while the body arrives; a disconnected client is not charged', async () => {
    const open = state.blockStore()
    const { port, bodies } = await clientServer(kind)
    const head = `POST /realtime HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\n`
    const auth = `Authorization: Bearer ${await tokenOf('pgw')}\r\n\r\n`
    const [slow, leaving] = [openSocket(port), openSocket(port)]
    await slow.send(`${head}${auth}{`)
    await leaving.send(`${head}${auth}{12}`)
    await waitUntil('the store is asked', () => state.lookups === 1)
    leaving.reset()
    await leaving.closed()
    // The answer to another request shows that the server has seen the end of that connection.
    expect((await fetch(`http://127.0.0.1:${port}/health/live`)).status).toBe(200)
    open()
    await slow.send('34}')
    expect((await slow.answer())?.status).toBe(200)
    // The connection continues.
    await slow.send(`${head}${auth}{56}`)
    expect((await slow.answer())?.status).toBe(200)
    slow.destroy()
    expect(bodies).toEqual(['{34}', '{56}'])
  })

  it('does not raise the limit of a body', async () => {
    const { ask, port, bodies } = await clientServer(kind)
    const token = await tokenOf('pgw')
    const init = { ...bearer(token), body: 'x'.repeat(65_537) }
    expect((await ask('', init)).status).toBe(413)
    expect((await ask('', { body: 'x'.repeat(65_537) })).status).toBe(413)
    const socket = openSocket(port)
    await socket.send(`POST /realtime?access_token=${token} HTTP/1.1\r\nHost: t\r\n`)
    await socket.send('Transfer-Encoding: chunked\r\n\r\n')
    await socket.send(`10001\r\n${'x'.repeat(65_537)}\r\n`)
    expect((await socket.answer())?.status).toBe(kind === 'native' ? 411 : 413)
    await socket.closed()
    expect(bodies).toEqual([])
  })
})
