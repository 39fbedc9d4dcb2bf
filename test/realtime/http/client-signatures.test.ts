/** Clients that sign their requests, and floods of requests of unknown clients. */
import { describe, expect, it } from 'vitest'
import {
  callersOf,
  clientServer,
  count,
  FORM,
  fetchGet,
  formText,
  fresh,
  KEY,
  NOW_MS,
  signatureFor,
  state,
  tokenOf,
  useClients,
} from '../../support/realtime/http/client-servers.ts'
import { accessOf, KINDS } from '../../support/realtime/http/server-of.ts'
import { waitUntil } from '../../support/wait.ts'

useClients()

describe.each(KINDS)('a signature: %s', (kind) => {
  it.each(['_sig_', 'signature'])('as %s is accepted: query, form, JSON', async (name) => {
    const { ask, arrivals, bodies } = await clientServer(kind)
    const inQuery = fresh()
    inQuery.set(name, signatureFor(new Map([...inQuery, ['a', new Map()]])))
    expect((await ask(`?${formText(inQuery)}`, { body: '{"a":{}}' })).status).toBe(200)
    const form = fresh([['request', '{"b":"é/"}']])
    form.set(name, signatureFor(form))
    expect((await ask('', { headers: FORM, body: formText(form) })).status).toBe(200)
    const json = fresh([
      ['session_id', 'é/'],
      ['2', [1.5, true]],
      ['1', null],
    ])
    const members = [...json, [name, signatureFor(json)]].map(
      ([member, value]) => `${JSON.stringify(member)}: ${JSON.stringify(value)}`,
    )
    const body = `{${members.join()}}`
    expect((await ask('', { body })).status).toBe(200)
    const get = fresh([
      ['file_type', 'pairs'],
      ['c', '1'],
    ])
    get.set(name, signatureFor(get))
    expect((await fetchGet(ask, `?${formText(get)}`)).status).toBe(200)
    expect(bodies).toEqual(['{"a":{}}', '{"b":"é/"}', body, `n=${count}&c=1`])
    expect(new Set(arrivals.map(({ origin }) => origin))).toEqual(new Set(['client:pgw']))
  })

  it('is valid once, wherever it is sent', async () => {
    const { ask, bodies } = await clientServer(kind)
    const sent = fresh([['request', '{}']])
    sent.set('_sig_', signatureFor(sent))
    const form = () => ask('', { headers: FORM, body: formText(sent) })
    const answers = await Promise.all([form(), form(), form()])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401])
    const again = await ask(`?${formText(sent)}`, { body: '' })
    expect([again.status, again.text.includes('was used before')]).toEqual([401, true])
    expect(bodies).toEqual(['{}'])
  })

  it('covers the body: a different or uncovered one is refused', async () => {
    const { ask, bodies } = await clientServer(kind)
    const sent = fresh()
    sent.set('_sig_', signatureFor(new Map([...sent, ['a', 1]])))
    const path = `?${formText(sent)}`
    for (const body of ['{"a":2}', '{"a":1,"b":1}', '{"a":"1"}', '', '{"a":1', '[1]', '\xff']) {
      expect((await ask(path, { body })).status).toBe(401)
    }
    const empty = fresh()
    empty.set('_sig_', signatureFor(empty))
    const xml = { headers: { 'content-type': 'application/xml' }, body: '<a/>' }
    const { status, text } = await ask(`/xml?${formText(empty)}`, xml)
    expect([status, text.includes('but not this body')]).toEqual([401, true])
    expect(bodies).toEqual([])
    expect((await ask(path, { body: '{"a":1}' })).status).toBe(200)
  })

  it('is refused with its reason, without showing the signature', async () => {
    const { ask, bodies, refused } = await clientServer(kind)
    const refusedFor = async (sent: Map<string, unknown>) => {
      const { status, text, headers } = await ask(`?${formText(sent)}`, { body: '' })
      expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
      expect(text).not.toMatch(/[0-9a-f]{32}/)
      return text
    }
    const unknown = fresh()
    unknown.set('_sig_', signatureFor(unknown, 'nobody’s'))
    expect(await refusedFor(unknown)).toContain('does not match any known key')
    const old = fresh([['_t_', String(NOW_MS / 1000 - 301)]])
    old.set('_sig_', signatureFor(old))
    expect(await refusedFor(old)).toContain('_t_ is more than 300 seconds')
    expect(await refusedFor(fresh([['_sig_', 'abc']]))).toContain('128 hexadecimal digits')
    const crm = fresh()
    crm.set('_sig_', signatureFor(crm, `crm-${KEY}`))
    expect((await ask(`?${formText(crm)}`, { body: '' })).status).toBe(403)
    expect([bodies, refused.at(-1)]).toEqual([[], 'client:crm role'])
    const off = await clientServer(kind, { callers: callersOf({ enabled: false }) })
    expect((await off.ask(`?${formText(old)}`)).text).toContain('switched off')
  })

  it('is not looked up in the body of a peer that need not authenticate', async () => {
    const { ask, arrivals } = await clientServer(kind, { mustAuthenticate: false })
    expect((await ask('', { body: '{"_sig_":"x","signature":1}' })).status).toBe(200)
    expect((await ask('?signature=mine')).status).toBe(200)
    expect(arrivals.map(({ origin }) => origin)).toEqual(['http', 'http'])
    expect((await ask('?_sig_=x')).status).toBe(401)
  })
})

describe('a flood of wrong credentials', () => {
  const exchange = { remoteAddress: () => '', certificateNames: () => null }

  it('causes a limited number of token lookups; a cached client is accepted', async () => {
    const callers = callersOf()
    const known = await tokenOf('pgw')
    expect(await callers.authenticateToken(known, 'authorization')).toMatchObject({
      name: 'client:pgw',
    })
    state.elapsedMs = 5_000
    expect(callers.cached(known)).toBe(null)
    const open = state.blockStore()
    const flood = Array.from({ length: 500 }, (_, index) =>
      callers.authenticateToken(index.toString(16).padStart(40, '0'), 'authorization'),
    )
    const asking = callers.authenticateToken(known, 'authorization')
    await waitUntil('the store is asked', () => state.lookups > 100)
    expect(state.lookups).toBe(130)
    open()
    const refusals = (await Promise.all(flood)).map((one) => 'refused' in one && one.refused)
    expect(refusals.filter((one) => one === 503)).toHaveLength(372)
    expect(refusals.filter((one) => one === 401)).toHaveLength(128)
    expect(await asking).toMatchObject({ name: 'client:pgw' })
    await callers.idle()
  })

  it('of signatures uses a limited amount of time', async () => {
    const callers = callersOf()
    const ask = async () => {
      const found = await callers.authenticateSignature(fresh([['_sig_', 'x']]), 4 * 1024 * 1024)
      return 'refused' in found ? found.refused : 0
    }
    const refusals = []
    for (let number = 0; number < 12; number += 1) refusals.push(await ask())
    expect(new Set(refusals.slice(0, 3))).toEqual(new Set([401]))
    expect(new Set(refusals.slice(-6))).toEqual(new Set([503]))
    state.elapsedMs = 10_000
    expect(await ask()).toBe(401)
  })

  it('of bodies that cannot be read is refused', async () => {
    const authenticator = accessOf({ callers: callersOf(), mustAuthenticate: true })
    const framing = { lengths: 0, length: '', encodings: 0, encoding: '', hosts: 1, isOld: false }
    const head = {
      method: 'POST',
      path: '/realtime',
      contentType: 'application/json',
      framing,
      readsChunks: true,
    }
    const none = { authorization: null, apiKey: null, host: '', isBrowser: false }
    const deep = `{"_sig_":"x","a":${'['.repeat(60_000)}${']'.repeat(60_000)}}`
    for (const [query, body] of [
      ['', deep],
      ['', '{"_sig_":'],
      ['_sig_=%', ''],
      [`_sig_=x&${'a&'.repeat(2_000)}`, ''],
      [`_sig_=x&a${'[b]'.repeat(60)}=1`, ''],
      [`_sig_=x&${'n'.repeat(2_000)}=1`, ''],
    ] as const) {
      const asked = { ...head, ...none, query }
      const verdict = authenticator.authenticate(asked, exchange)
      if (verdict.refused !== 'undecided') throw new Error('it can be told')
      const decided = await authenticator.decide(asked, Buffer.from(body), verdict)
      expect(decided).toMatchObject({ refused: 401, cause: 'credentials' })
      expect(JSON.stringify(decided).length).toBeLessThan(400)
    }
  })
})
