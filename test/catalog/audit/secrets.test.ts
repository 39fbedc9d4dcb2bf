/** Secrets and size limits of audit records. */
import { describe, expect, it } from 'vitest'
import { auditDocument, TRUNCATED, truncateDocument } from '../../../src/catalog/audit/audit.ts'
import { redactSecrets } from '../../../src/catalog/audit/secrets.ts'
import { ObjectId } from '../../../src/catalog/collections.ts'

const ACTOR = { by: 'session', id: 'u1', name: 'ada', address: '192.0.2.1' } as const
const PLANTED = 'planted-secret'

function textOf(value: unknown): string {
  return JSON.stringify(value)
}

describe('audit secrets', () => {
  it.each([
    ['users', { username: 'ada', password: PLANTED }],
    ['users', { username: 'ada', password: `$argon2id$v=19$m=1$${PLANTED}` }],
    ['cards', { secret: PLANTED, batch_number: 1 }],
    ['accounts', { payment_gateway: { active: { name: 'X', card_token: PLANTED } } }],
    ['accounts', { payment_gateway: { active: { personal_id: PLANTED, auth_number: PLANTED } } }],
    ['accounts', { payment_gateway: { former: [{ name: 'X', params: { any: [PLANTED] } }] } }],
    ['accounts', { payment_gateway: PLANTED }],
    ['settings', [{ name: 'crm', client_secret: PLANTED }]],
    ['settings', { shared_secret: [{ key: PLANTED, name: 'x' }] }],
    ['settings', { deep: { er: [{ bindPassword: PLANTED }] } }],
    ['settings', { 'access-token': PLANTED, refresh_token_hash: PLANTED }],
    ['settings', { value: `plain:${PLANTED}` }],
    ['settings', { value: `v1:${'A'.repeat(38)}${PLANTED}` }],
    ['settings', { value: `v2:0123abcd:${PLANTED}` }],
    ['settings', { list: [`-----BEGIN RSA PRIVATE KEY-----\n${PLANTED}`] }],
    ['settings', { [`plain:${PLANTED}`]: 1 }],
    ['peers', { name: 'a', keys: [{ sha256: PLANTED }], key: PLANTED }],
    ['oauth', { client: 'x', secret: { value: PLANTED } }],
    ['login', { samlResponse: PLANTED, assertion: PLANTED, signature: PLANTED, cookie: PLANTED }],
    ['login', PLANTED.replace(/^/, 'plain:')],
  ])('of %s are not recorded: %j', (collection, document) => {
    const entry = { collection, type: 'set', key: 'k', old: document, new: document }
    const record = auditDocument(ACTOR, 0, entry, 'seed')
    expect(textOf(record)).not.toContain(PLANTED)
    const others = { collection, type: 'set', key: 'k', new: document }
    expect(textOf(auditDocument(ACTOR, 0, others, 'seed'))).not.toContain(PLANTED)
  })

  it('are omitted without changing other fields', () => {
    const document = {
      _id: new ObjectId(),
      key: 'CALL',
      arate_key: 'A',
      urt: new Date(5),
      none: null,
      list: [1, { name: 'x' }],
      password: { characters_min: 8 },
      oauth: { on: true },
      payment_gateway: { active: { name: 'X', generate_token_time: new Date(7) } },
      access_token_seconds: 3600,
      secret: '',
    }
    expect(redactSecrets('rates', document)).toEqual(document)
  })

  it('are recorded as changed, without their values', () => {
    const before = { password: 'a', name: 'x' }
    const redacted = (password: string) => redactSecrets('users', { password, name: 'y' }, before)
    expect(redacted('a')).toEqual({ password: '(secret)', name: 'y' })
    expect(redacted('b')).toEqual({ password: '(secret, changed)', name: 'y' })
  })

  it('can have special field names such as `__proto__`, without effect on other objects', () => {
    const document = JSON.parse('{"__proto__":{"token":"x"},"a.b":1,"$c":{"$d.e":2}}')
    const kept = redactSecrets('plans', document)
    expect(textOf(kept)).toBe('{"__proto__":{"token":"(secret)"},"a.b":1,"$c":{"$d.e":2}}')
    expect(({} as Record<string, unknown>)['token']).toBeUndefined()
  })
})

describe('an audit record', () => {
  it('has the same stamp as other records of the same write', () => {
    const entry = { collection: 'plans', type: 'update', key: 'GOLD' }
    const stamp = (seed: string) => auditDocument(ACTOR, 0, entry, seed).stamp
    expect(stamp('a')).toBe(stamp('a'))
    expect(stamp('a')).not.toBe(stamp('b'))
    expect(stamp('a')).toMatch(/^[0-9a-f]{32}$/)
  })

  it('omits internal fields of the node and truncates names', () => {
    const old = { name: 'A', rev: 3, deleted: true, deleted_at: new Date(0) }
    const entry = { collection: 'plans', type: 'delete', key: 'K'.repeat(5000), old }
    const record = auditDocument({ ...ACTOR, name: 'N'.repeat(5000) }, 0, entry, 's')
    expect(record).toMatchObject({ old: { name: 'A' }, new: null })
    expect(Object.keys(record.old as object)).toEqual(['name'])
    for (const text of [record.key, record.user.name]) expect(text.length).toBeLessThan(300)
  })

  it('stays below 256 KiB: the largest fields are omitted and named', () => {
    const text = 'x'.repeat(100 * 1024)
    const document = { name: 'A', large: text, larger: text + text, last: 1 }
    const record = auditDocument(
      ACTOR,
      0,
      { collection: 'plans', type: 'update', key: 'A', old: document, new: document },
      's',
    )
    expect(record.new).toEqual({ name: 'A', large: text, last: 1, [TRUNCATED]: 'larger' })
    expect(Buffer.byteLength(textOf(record))).toBeLessThan(256 * 1024)
  })

  it.each([
    ['many fields', Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`f${at}`, at]))],
    ['one list', { list: Array.from({ length: 100_000 }, (_, at) => at) }],
  ])('is also truncated with %s', (_, document) => {
    expect(Buffer.byteLength(textOf(truncateDocument(document)))).toBeLessThan(125 * 1024)
    expect(textOf(truncateDocument(document))).toContain(TRUNCATED)
  })
})
