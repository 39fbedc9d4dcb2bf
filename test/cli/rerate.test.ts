/** `tollgate rerate`: usage that was charged before the catalogue changed. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  lineDocument,
  type RealtimeLineDocument,
} from '../../src/catalog/records/usage/line-document.ts'
import { emptyOwner } from '../../src/domain/bucket.ts'
import type { IncludedGroup } from '../../src/domain/catalogue.ts'
import { cycleAt } from '../../src/domain/cycle.ts'
import { beginRerate } from '../../src/jobs/rerate-job.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { ACTOR } from '../support/billing/books.ts'
import { insertEntity } from '../support/catalog/store.ts'
import { useTollgate } from '../support/cli/tollgate.ts'
import { serviceRequest } from '../support/domain/requests.ts'
import { customerSettings } from '../support/external/example-crm.ts'
import { useOpened } from '../support/opened.ts'
import { ROOT } from '../support/product/product.ts'
import { catalogueOf, planOf, profileOf, rateOf } from '../support/rating/catalogue.ts'
import { RatingFixture } from '../support/rating/rating-fixture.ts'
import { startTestRedis } from '../support/redis.ts'

const redis = useOpened(startTestRedis)
const product = useTollgate({
  TOLLGATE_RATING_CURRENCY_CODE: '826',
  get TOLLGATE_REDIS_URL() {
    return redis().url
  },
})
const CYCLE = cycleAt(Date.now(), 'UTC', 1)
const ALWAYS = { fromMs: 0, toMs: CYCLE.toMs + 1e10 }
const FROM = new Date(CYCLE.fromMs - 86_400_000)
const TIMES = ['--from', new Date(CYCLE.fromMs).toISOString()]
const SELECTED = [...TIMES, '--to', new Date(CYCLE.toMs).toISOString()]

/** Units of data that the plan includes. */
const INCLUDED = 100
const GROUP: IncludedGroup = {
  name: 'G',
  kind: 'units',
  total: INCLUDED,
  usagets: new Set(['data']),
  rates: 'all',
  sharing: 'none',
  isPerQuantity: false,
}

/** Lines of 60 units each, charged with 0.002 for 10 units, a minute after one another. */
function charged(aid: number, sid: number, usagets: readonly string[]): RealtimeLineDocument[] {
  const scene = new RatingFixture({})
  scene.catalogue = catalogueOf(
    [rateOf('DATA', 'data', '2000/10', ALWAYS), rateOf('CALL', 'call', '2000/10', ALWAYS)],
    [planOf('POST', { ...ALWAYS, connectionType: 'postpaid', groups: [GROUP] })],
  )
  scene.profile = profileOf({ ...ALWAYS, aid, sid, plan: 'POST' })
  scene.subscriber = emptyOwner(aid, sid)
  scene.account = emptyOwner(aid, 0)
  for (const [index, usaget] of usagets.entries()) {
    scene.nowMs = CYCLE.fromMs + (index + 1) * 60_000
    const origin = usaget === 'call' ? 'file/CALLS' : 'http'
    const services = [serviceRequest({ usaget, used: 60 })]
    scene.send({ kind: 'event', isRecord: true, origin, sessionId: `${sid}-${index}`, services })
  }
  return scene.lines.map(lineDocument)
}

const price = (usaget: string, amount: number) => ({
  [usaget]: { BASE: { rate: [{ from: 0, to: 'UNLIMITED', interval: 10, price: amount }] } },
})

/** Accounts 1 and 2 have the same usage of data; 2 a confirmed invoice, and a line beyond it. */
beforeAll(async () => {
  const catalog = product.catalog()
  await catalog.ensureIndexes()
  const from = FROM
  const group = { value: INCLUDED, usage_types: { data: { unit: 'bytes' } }, rates: 'ALL_RATES' }
  const include = { groups: { G: group } }
  await insertEntity(catalog, 'plans', {
    ...{ name: 'POST', connection_type: 'postpaid', from, include },
  })
  await insertEntity(catalog, 'rates', { key: 'DATA', from, rates: price('data', 0.002) })
  await insertEntity(catalog, 'rates', { key: 'CALL', from, rates: price('call', 0.002) })
  for (const aid of [1, 2, 3, 4, 5]) {
    await insertEntity(catalog, 'subscribers', { aid, sid: aid + 10, plan: 'POST', from })
  }
  const late = { since: new Date(CYCLE.toMs), former: null }
  const [first, second, third] = charged(2, 12, ['data', 'data', 'data'])
  const lines = [
    ...charged(1, 11, ['data', 'data', 'data', 'call']),
    ...[first, second, { ...third, uninvoiced: late }],
  ]
  await catalog.lines.insertMany(lines as never[])
  const invoice = { aid: 2, billrun_key: CYCLE.key, invoice_id: 102, billed: 1 }
  await catalog.billrun.insertOne(invoice as never)
})

const setPrice = (amount: number) =>
  product.catalog().rates.updateOne({ key: 'DATA' }, { $set: { rates: price('data', amount) } })

async function preview(...more: string[]) {
  const { code, stdout, stderr } = await product.run(
    ...['rerate', '--dry-run', '--json', ...SELECTED, ...more],
  )
  const answers = stdout.trim().split('\n').filter(Boolean)
  return { code, stderr, answers: answers.map((each) => JSON.parse(each)) }
}

const amounts = (amount: string) => ({ aprice: amount, final_charge: amount })
const NONE = amounts('0')

describe('tollgate rerate --dry-run', () => {
  it('finds no difference by the catalogue that has charged the usage', async () => {
    const { code, stderr, answers } = await preview()
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(answers.at(-1)).toEqual({
      ...{ accounts: 2, refused: 0, lines: 7, changed: 0 },
      ...{ difference: NONE, on_confirmed: NONE, largest: [] },
    })
  })

  describe('with another price', () => {
    beforeAll(() => setPrice(0.003))

    it('shows the exact difference of each account, and the largest ones', async () => {
      const lines = () => product.catalog().lines.find().toArray()
      const before = await lines()
      const { code, answers } = await preview()
      expect(code).toBe(0)
      const [one, two, totals] = answers
      // 20 and 60 units beyond the included ones.
      const common = { cycle: CYCLE.key, changed: 2, difference: amounts('0.008'), refused: [] }
      expect(one).toEqual({ ...common, aid: 1, lines: 4, invoice: null, on_confirmed: NONE })
      const invoice = { id: 102, state: 'confirmed' }
      const onConfirmed = { on_confirmed: amounts('0.002') }
      expect(two).toEqual({ ...common, aid: 2, lines: 3, invoice, ...onConfirmed })
      expect(totals).toMatchObject({
        ...{ accounts: 2, refused: 0, lines: 7, changed: 4 },
        ...{ difference: amounts('0.016'), ...onConfirmed },
      })
      expect(totals.largest).toEqual(
        [
          [1, 2, '0.012', '0.018', '0.006'],
          [2, 2, '0.012', '0.018', '0.006'],
          [1, 1, '0.004', '0.006', '0.002'],
          [2, 1, '0.004', '0.006', '0.002'],
        ].map(([aid, index, old = '', today = '', difference = '']) => ({
          aid,
          sid: Number(aid) + 10,
          stamp: expect.any(String),
          urt: new Date(CYCLE.fromMs + (Number(index) + 1) * 60_000).toISOString(),
          before: amounts(String(old)),
          after: amounts(String(today)),
          difference: amounts(String(difference)),
        })),
      )
      expect(await lines()).toEqual(before)
    })

    it('says it in words, also what a confirmed invoice would need', async () => {
      const { stdout } = await product.run('rerate', '--dry-run', ...SELECTED, '--sid', '12')
      expect(stdout).toContain(
        `account 2, cycle ${CYCLE.key}: 2 of 3 lines, 0.008 GBP, with tax 0.008 GBP; ` +
          'the confirmed invoice 102 would need a charge of 0.002 GBP with tax\n',
      )
    })

    it.each([
      [['--sid', '12'], [2]],
      [['--rate', 'CALL'], [1]],
      [['--file-type', 'CALLS'], [1]],
      [
        ['--plan', 'POST'],
        [1, 2],
      ],
      [['--plan', 'GOLD'], []],
    ])('selects the accounts with lines of %j', async (more, aids) => {
      const { answers } = await preview(...more)
      expect(answers.slice(0, -1).map(({ aid }) => aid)).toEqual(aids)
    })
  })
})

/** The output in docs/BILLING-CYCLE.md. */
function documented(): string {
  const text = readFileSync(join(ROOT, 'docs/BILLING-CYCLE.md'), 'utf8')
  const [, example = ''] = /### Rerating.*?```text\n(.*?)```/s.exec(text) ?? []
  return example.replaceAll('202612', CYCLE.key)
}

describe('an account that cannot be rerated is refused with the reason', () => {
  const insert = (lines: readonly object[]) => product.catalog().lines.insertMany(lines as never[])
  beforeAll(() => setPrice(0.001))

  it('beside the others, which get credits for lower prices', async () => {
    await insert(charged(3, 13, ['data']).map((line) => ({ ...line, state: 'open' })))
    const { code, stdout } = await product.run('rerate', '--dry-run', ...SELECTED)
    expect({ code, stdout }).toEqual({ code: 1, stdout: documented() })
  })

  it.each([
    [13, 'open', 'its session is open'],
    [14, 'operation', 'it changed a counter of the cycle without usage'],
    [15, 'moved', 'its subscriber was in two accounts during the cycle'],
  ])('subscriber %s: %s', async (sid, reason, text) => {
    const aid = sid - 10
    const operation = {
      ...{ stamp: 'operation', type: 'balance', aid, sid, counter: 'group', usaget: 'balance' },
      ...{ from: new Date(CYCLE.fromMs), to: new Date(CYCLE.toMs) },
    }
    const elsewhere = charged(9, sid, ['data']).map((line) => ({ ...line, stamp: 'other-1' }))
    const causes = { open: [], operation: [operation], moved: elsewhere }[reason] ?? []
    if (causes.length > 0) await insert([...charged(aid, sid, ['data']), ...causes])
    const { code, answers } = await preview('--sid', String(sid))
    expect(code).toBe(1)
    const refused = [{ stamp: expect.any(String), reason, text }]
    expect(answers.find((answer) => answer.aid === aid)).toMatchObject({ changed: 0, refused })
  })
})

it('names an invoice that would be computed again', async () => {
  await product.catalog().billrun.updateOne({ aid: 2 }, { $unset: { billed: true } })
  const { stdout } = await product.run('rerate', '--dry-run', ...SELECTED, '--sid', '12')
  expect(stdout).toContain('; invoice 102 would be computed again\n')
  expect(stdout).toContain('on confirmed invoices: 0 GBP, with tax 0 GBP\n')
})

describe('without --dry-run', () => {
  const rerate = (...more: string[]) => product.run('rerate', ...SELECTED, '--sid', '12', ...more)

  it('is a preview, which says how it is done', async () => {
    const { code, stdout } = await rerate()
    expect({ code, stdout }).toMatchObject({
      ...{ code: 0, stdout: expect.stringContaining('2 of 3 lines would change: -0.008 GBP') },
    })
    expect(stdout).toMatch(/\nnothing has changed: --yes charges it\n$/)
    expect(await product.catalog().jobs.countDocuments({})).toBe(0)
  })

  it('changes it with --yes, by a job of whoever gave the command', async () => {
    const { code, stdout, stderr } = await rerate('--yes')
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout:
        `account 2, cycle ${CYCLE.key}: 2 of 3 lines, -0.008 GBP, with tax -0.008 GBP; ` +
        'invoice 102 has to be computed again\n' +
        '2 of 3 lines have changed: -0.008 GBP, with tax -0.008 GBP\n' +
        'on confirmed invoices: 0 GBP, with tax 0 GBP\n' +
        '0 of 1 accounts were not rerated\n',
      stderr: '',
    })
    expect(await product.catalog().jobs.findOne({})).toMatchObject({
      ...{ kind: 'rerate', state: 'done', actor: { by: 'cli' } },
      counts: { accounts: 1, lines: 3, changed: 2 },
    })
    expect(await product.catalog().rerates.findOne({})).toMatchObject({ state: 'applied' })
  })

  it('does nothing while other usage is being rerated', async () => {
    const { jobs } = product.catalog()
    const order = { fromMs: 0, toMs: 1, rateKey: '', plan: '', sid: 0, origin: '' }
    await beginRerate({ catalog: product.catalog(), clock: systemClock }, order, ACTOR)
    expect(await rerate('--yes')).toMatchObject({
      ...{ code: 1, stderr: 'tollgate: other usage is being rerated: see tollgate job list\n' },
    })
    await jobs.deleteMany({})
  })
})

describe('tollgate rerate refuses', () => {
  it.each([
    [[...SELECTED, '--dry-run', '--yes'], '--dry-run and --yes exclude each other'],
    [['--dry-run'], '--from is missing'],
    [
      ['--dry-run', '--from', 'soon'],
      "--from must be a date, as in 2030-01-31 or ISO 8601, not 'soon'",
    ],
    [['--dry-run', ...TIMES, '--to', '2020-01-01'], '--to must be after the begin'],
    [['--dry-run', '--from', '2020-01-01'], '--from must not be before '],
  ])('%j', async (args, text) => {
    const refused = await product.run('rerate', ...args)
    expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(text) })
  })

  it('usage of subscribers that the customer system has', async () => {
    const settings = { value: customerSettings('http://127.0.0.1:1'), rev: 1, changed: new Date(0) }
    await product
      .catalog()
      .config.insertOne({ _id: 'subscribers', ...settings, changed_by: 'hand' } as never)
    const { code, stderr } = await product.run('rerate', '--dry-run', ...SELECTED)
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'tollgate: the customer system has the subscribers: usage is not rerated\n',
    })
  })
})
