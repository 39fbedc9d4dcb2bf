/** A link on a page of another site is followed by GET, with the cookie: it never writes. */
import { beforeAll, describe, expect, it } from 'vitest'
import { GET_REQUEST } from '../../../src/admin/payments/get-request.ts'
import { DOCUMENT } from '../../support/admin/openapi/answer-check.ts'
import { startClosedAdmin } from '../../support/identity/closed-admin.ts'
import { useOpened } from '../../support/opened.ts'

const BOSS = 'boss@example.org'
const PASSWORD = 'a good password'
let cookie = ''
let aid = 0

const closed = useOpened(startClosedAdmin)
beforeAll(async () => {
  await closed().addUser(BOSS, PASSWORD, ['admin'])
  cookie = await closed().cookieOf(BOSS, PASSWORD)
  await closed().setting('payment_gateways', [{ name: 'sandbox' }])
  const person = { firstname: 'Ada', lastname: 'Byron', country: 'UK', address: '1 Mill Rd' }
  const update = JSON.stringify({ ...person, email: 'ada@example.org', zip_code: 'AB1' })
  const account = await closed().post('/billapi/accounts/create', { update }, cookie)
  aid = Number((account['entity'] as { aid: number }).aid)
})

/** For callers with a token or a signature. */
const WRITES_BY_GET: ReadonlySet<string> = new Set(['/api/remove', GET_REQUEST.path])

type Item = (typeof DOCUMENT.paths)[string]

/** The examples of both operations; those of the path are put in it. */
function addressOf(path: string, { get, post }: Item): string {
  const query = new URLSearchParams()
  let filled = path
  for (const operation of [get, post]) {
    for (const parameter of (operation?.parameters ?? []) as unknown as readonly Parameter[]) {
      const value = textOf(parameter.example ?? parameter.content?.['application/json']?.example)
      if (parameter.in === 'path') filled = filled.replace(`{${parameter.name}}`, value)
      if (parameter.in === 'query') query.set(parameter.name, value)
    }
    const { content } = (operation?.requestBody ?? {}) as { content?: Parameter['content'] }
    for (const [name, value] of Object.entries(content?.['application/json']?.example ?? {})) {
      query.set(name, textOf(value))
    }
  }
  if (query.has('aid')) query.set('aid', String(aid))
  return `${filled}?${query}`
}

interface Parameter {
  readonly name: string
  readonly in: string
  readonly example?: unknown
  readonly content?: Record<string, { example?: object }>
}

function textOf(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return text.replace(/"aid":\d+/, `"aid":${aid}`)
}

async function stored(): Promise<string> {
  const { catalog } = closed().stores
  const all = Object.entries(catalog).map(async ([name, each]) => {
    const collection = each as {
      find?: (filter: object) => { toArray(): Promise<unknown[]> }
    } | null
    // The control plane checks with this document whether MongoDB accepts writes.
    const others = { _id: { $ne: 'writable' } }
    if (typeof collection?.find !== 'function') return []
    return [name, await collection.find(others).toArray()]
  })
  return JSON.stringify(await Promise.all(all))
}

describe('a link that a browser follows with the cookie of a session', () => {
  it('leads to each path of the API, and none of them writes', async () => {
    const before = await stored()
    expect(before).toContain('ada@example.org')
    for (const [path, item] of Object.entries(DOCUMENT.paths)) {
      const url = `${closed().url}${addressOf(path, item)}`
      for (const method of ['GET', 'HEAD']) {
        const sent = { method, headers: { cookie }, redirect: 'manual' } as const
        const { status, body } = await fetch(url, sent)
        await body?.cancel()
        const isRefused = item.get === undefined || WRITES_BY_GET.has(path)
        if (isRefused) expect(`${path} ${status}`).toMatch(/ 40[45]$/)
      }
    }
    expect(await stored()).toBe(before)
  })
})
