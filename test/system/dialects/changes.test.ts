/** File types that are changed, broken and removed while network elements use them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { takeRevs } from '../../../src/catalog/transactions/state.ts'
import { Client } from '../../support/product/charge-client.ts'
import { aidOf, FIRST_SID, populate } from '../../support/product/population.ts'
import { type Product, startProduct } from '../../support/product/product.ts'
import { tollgate } from '../../support/system/command.ts'
import { setFileTypes } from '../../support/system/dialects/all.ts'
import { GATEWAY } from '../../support/system/dialects/gateway.ts'
import { type LedgerReader, openLedgerReader, withCatalog } from '../../support/system/exchange.ts'
import { waitUntil } from '../../support/wait.ts'

const MIB = 1024 * 1024
/** Micros of money; a MiB costs 10,000 by the rate DATA, and 2,000 by DATA_10. */
const MONEY = 100_000_000
const ELEMENTS = 6

let product: Product
let reader: LedgerReader

beforeAll(async () => {
  const environment = {
    TOLLGATE_MONGO_TIMEOUT_MS: '500',
    TOLLGATE_CATALOG_POLL_MS: '50',
  }
  product = await startProduct({ environment })
  const credits = [{ prepaidIncludeId: 1, amount: MONEY }]
  await populate({ ...product, subscribers: 12, subscribersPerAccount: 1, credits })
  await setFileTypes(product, form(1))
  await product.start('realtime')
  reader = await openLedgerReader(product.redisUrl)
})
afterAll(async () => {
  await reader?.close()
  await product?.stop()
})

/** The gateway format; each answer contains the number of its form. */
function form(number: number, more: object = {}) {
  const { response } = GATEWAY
  const fields = [...response.fields, { response_field_name: 'head.form', constant: number }]
  return { ...GATEWAY, response: { ...response, fields }, ...more }
}

interface Answer {
  status: number
  text: string
  code: number
  form: number
}

/** A session of one gateway, with its own connection. */
class Session {
  number = 0
  last = ''
  readonly #client: Client
  readonly #id: string
  readonly #head: object

  constructor(id: string, head: object, fileType = 'GATEWAY') {
    this.#client = new Client(product.realtimePort, `/realtime/${fileType}`)
    this.#id = id
    this.#head = head
  }

  open(): Promise<Answer> {
    return this.#say('OPEN', { ask: MIB })
  }

  more(): Promise<Answer> {
    return this.#say('MORE', { ask: MIB, done: MIB })
  }

  async end(done = MIB): Promise<Answer> {
    const answer = await this.#say('END', { done })
    this.#client.close()
    return answer
  }

  /** Repeats the last request. */
  async again(): Promise<Answer> {
    const { status, body: text } = await this.#client.post(this.last)
    const { head = {}, ...error } = JSON.parse(text)
    return { status, text, code: head.code ?? error.returnCode, form: head.form ?? 0 }
  }

  #say(phase: string, amounts: object): Promise<Answer> {
    const head = { session: this.#id, node: 'n', number: this.number, phase, ...this.#head }
    this.number += 1
    this.last = JSON.stringify({ head, usage: [{ kind: 'web', ...amounts }] })
    return this.again()
  }
}

const GRANTED = { status: 200, code: 1 }
const lineOf = (index: number) => ({ line: `L${FIRST_SID + index}` })

async function spentBy(index: number): Promise<number | undefined> {
  const { buckets } = await reader.ownerOf(aidOf(index, 1), FIRST_SID + index)
  return buckets[0]?.spent
}

/** Opens sessions until one is granted in the given form; earlier ones are refused. */
async function untilGranted(name: string, head: object, formNumber: number): Promise<Session> {
  let attempt = 0
  let session = new Session(name, head)
  await waitUntil(`${name} is granted`, async () => {
    attempt += 1
    session = new Session(`${name}-${attempt}`, head)
    const answer = await session.open()
    return answer.code === 1 && answer.form === formNumber
  })
  return session
}

describe('a file type that is changed under load', () => {
  it('answers every request, and later ones in the new form', async () => {
    let isOver = false
    const latest = new Map<number, number>()
    const element = async (index: number) => {
      const answers: Answer[] = []
      const long = new Session(`long-${index}`, lineOf(index))
      answers.push(await long.open())
      for (let round = 0; !isOver; round += 1) {
        const short = new Session(`short-${index}-${round}`, lineOf(index))
        answers.push(await short.open(), await short.more(), await long.more(), await short.end())
        latest.set(index, answers.at(-1)?.form ?? 0)
      }
      answers.push(await long.end())
      return answers
    }
    const elements = Promise.all(Array.from({ length: ELEMENTS }, (_, index) => element(index)))
    const changes = (async () => {
      for (const number of [2, 3, 4]) {
        await setFileTypes(product, form(number))
        const isCurrent = () => latest.size === ELEMENTS && [...latest.values()].every(isNew)
        const isNew = (one: number) => one === number
        await waitUntil(`all answers have form ${number}`, isCurrent)
      }
    })().finally(() => {
      isOver = true
    })
    const [answersByElement] = await Promise.all([elements, changes])
    for (const answers of answersByElement) {
      expect(answers.filter(({ status, code }) => status !== 200 || code !== 1)).toEqual([])
      const forms = answers.map((answer) => answer.form)
      expect(forms).toEqual(forms.toSorted((one, other) => one - other))
      expect(new Set(forms)).toEqual(new Set([1, 2, 3, 4]))
    }
  })

  it('is unknown after its removal, and its sessions continue once it is restored', async () => {
    const session = new Session('removed', lineOf(6))
    expect(await session.open()).toMatchObject(GRANTED)
    const decided = await session.more()
    expect(await tollgate(product, ['filetype', 'remove', 'GATEWAY'])).toMatchObject({ code: 0 })
    await waitUntil('it is removed', async () => (await session.again()).status === 404)
    expect(await session.again()).toMatchObject({
      code: -20,
      text: expect.stringContaining('file_type GATEWAY is unknown'),
    })
    await setFileTypes(product, form(4))
    await waitUntil('it is back', async () => (await session.again()).status === 200)
    expect(await session.again()).toEqual(decided)
    expect(await session.end()).toMatchObject(GRANTED)
    expect(await spentBy(6)).toBe(20_000)
  })
})

describe('changed rules', () => {
  it('identify new sessions, and open sessions keep their subscriber', async () => {
    const before = new Session('identified', lineOf(7))
    expect(await before.open()).toMatchObject(GRANTED)
    const imsi = `00102${String(FIRST_SID + 8).padStart(10, '0')}`
    const head = { line: `I${imsi}` }
    expect(await new Session('too-early', head).open()).toMatchObject({ code: -2 })
    const rule = { src_key: 'head.line', target_key: 'imsi', clear_regex: '/^I/' }
    await setFileTypes(product, form(5, { customer_identification_fields: { '*': [rule] } }))
    const after = await untilGranted('by-imsi', head, 5)
    expect(await new Session('too-late', lineOf(7)).open()).toMatchObject({ status: 200, code: -2 })
    for (const session of [before, after]) expect(await session.end()).toMatchObject(GRANTED)
    expect([await spentBy(7), await spentBy(8)]).toEqual([10_000, 10_000])
  })

  it('rate new requests, and granted units keep their rate', async () => {
    const byField = (line_key: string) => {
      const filters = [{ type: 'match', rate_key: 'key', line_key }]
      return { rate_calculators: { retail: { '*': { priorities: [{ filters }] } } } }
    }
    await setFileTypes(product, form(6, byField('head.tariff')))
    const both = { tariff: 'DATA', offer: 'DATA_10' }
    const before = await untilGranted('rated', { ...lineOf(9), ...both }, 6)
    const without = await untilGranted('left-out', { ...lineOf(10), tariff: 'DATA' }, 6)
    for (const session of [before, without]) expect(await session.more()).toMatchObject(GRANTED)
    await setFileTypes(product, form(7, byField('head.offer')))
    const after = await untilGranted('offered', { ...lineOf(8), offer: 'DATA_10' }, 7)
    expect(await before.more()).toMatchObject({ ...GRANTED, form: 7 })
    // Without the field that the new rules need nothing is granted, but used units are charged.
    expect(await without.more()).toMatchObject({ status: 200, code: -3, form: 7 })
    const spent = await spentBy(8)
    for (const session of [before, after]) expect(await session.end()).toMatchObject(GRANTED)
    expect(await without.end(0)).toMatchObject(GRANTED)
    expect([await spentBy(9), await spentBy(10)]).toEqual([22_000, 20_000])
    expect(Number(await spentBy(8)) - Number(spent)).toBe(2_000)
  })
})

describe('a document that is broken in the database', () => {
  it('makes its file type unknown and reports why; other file types stay in use', async () => {
    await setFileTypes(product, form(8), { ...form(8), file_type: 'OTHER' })
    const session = await untilGranted('broken', lineOf(11), 8)
    const broken = { ...form(8), parser: { type: 'soap' } }
    const value = [broken, { ...form(8), file_type: 'OTHER' }]
    await withCatalog(product, async (catalog) => {
      await catalog.transaction('break a file type', async (session) => {
        const change = { $set: { value, rev: takeRevs(session, 'config') } }
        await catalog.config.updateOne({ _id: 'file_types' }, change, { session })
      })
    })
    await waitUntil('it is noticed', async () => (await session.again()).status === 404)
    const { text } = await session.again()
    expect(text).toContain('file_type GATEWAY cannot be used: file_types.GATEWAY.parser.type')
    const other = new Session('other', lineOf(11), 'OTHER')
    expect(await other.open()).toMatchObject(GRANTED)
    expect(await other.end()).toMatchObject(GRANTED)
    await setFileTypes(product, form(9))
    await waitUntil('it is repaired', async () => (await session.again()).status === 200)
    expect(await session.end()).toMatchObject({ ...GRANTED, form: 9 })
  })
})

describe.skipIf(process.env['TEST_MONGO_URL'])('without MongoDB', () => {
  it('known file types stay in use, and change when MongoDB is back', async () => {
    await setFileTypes(product, form(10))
    const session = await untilGranted('away', lineOf(0), 10)
    await product.kill9('mongo')
    for (let count = 0; count < 20; count += 1) {
      expect(await session.more()).toMatchObject({ ...GRANTED, form: 10 })
      const next = new Session(`alone-${count}`, lineOf(0))
      expect(await next.open()).toMatchObject({ ...GRANTED, form: 10 })
      expect(await next.end()).toMatchObject({ ...GRANTED, form: 10 })
    }
    expect(await new Session('nobody', lineOf(0), 'NOBODY').open()).toMatchObject({ status: 404 })
    await product.start('mongo')
    await setFileTypes(product, form(11))
    await waitUntil('the change is seen', async () => (await session.again()).form === 11)
    expect(await session.end()).toMatchObject({ ...GRANTED, form: 11 })
  })
})
