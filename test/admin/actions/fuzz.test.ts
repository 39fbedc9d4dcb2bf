/** Any value of any parameter of any action is refused by name, or accepted; never an error 500. */
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { pathsOf } from '../../../src/admin/actions/action.ts'
import { ACTIONS } from '../../../src/admin/actions/table.ts'
import type { Intake } from '../../../src/intake/open-intake.ts'
import { checkFileType } from '../../../src/realtime/check-file-type.ts'
import { useActionServer } from '../../support/admin/actions/action-server.ts'
import { addTenant, TAXED } from '../../support/admin/actions/credit-tenant.ts'

const WITH_REMOVE = { ...TAXED, TOLLGATE_ACTIONS_REMOVE: 'true' }
/** Test `admin/lines` has the real one. */
const INTAKE: Intake = {
  charge: async (_fileType, texts) => {
    return texts.map(() => ({ state: 'rejected', stamp: '', reason: 'is odd' }))
  },
  resubmit: async () => ({ state: 'unknown', reason: '' }),
  fileType: () => Promise.reject(new Error('not used')),
  take: () => Promise.reject(new Error('not used')),
  close: async () => undefined,
}
const stores = { hasLedger: true, checkFileType, intake: async () => INTAKE }
const api = useActionServer(ACTIONS, WITH_REMOVE, stores)
beforeAll(() => addTenant(api.catalog()))

const value = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.double(),
  fc.string(),
  fc.constantFrom(
    '',
    '0',
    '-1',
    '1e400',
    '-0',
    'NaN',
    '[]',
    '{}',
    '[[',
    'null',
    '2026-13-45',
    '999912',
    '000001',
    '\0',
  ),
  // Words that select operations.
  fc.constantFrom(
    ...['query', 'calculate', 'search', 'run', 'complete', 'charge', 'refund', 'pending'],
    ...['create', 'update', 'delete', 'new', 'duplicate', 'close_and_new'],
    ...['lines', 'plans', 'rates', 'subscribers', 'users', 'balances', 'log'],
    ...['one_payment', 'multiple_payments', 'unpaid', 'inv', 'cash', 'split_bill', 'use_deposit'],
  ),
  fc.dictionary(
    fc.constantFrom(
      ...['aid', 'sid', 'rate', 'plan', 'service', 'aprice', 'subscriber', 'account'],
      ...['$or', '$elemMatch', '_id', 'imsi', 'from', 'to', 'urt', 'value', 'pp_includes_name'],
      ...['name', 'card_token', 'customer_id', 'include_tax_data', 'id', 'amount', 'txid'],
    ),
    fc.oneof(fc.jsonValue({ maxDepth: 1 }), fc.constantFrom<unknown>('FEE_A', 'GOLD', 7, 1001)),
    { maxKeys: 4 },
  ),
  fc.constantFrom(2 ** 53 + 2, -1, 1e300, { $gt: '' }, [{ $where: '1' }], '202607', 'FEE_A'),
)

describe.each(ACTIONS.map((action) => [String(pathsOf(action)[0]).slice(1), action] as const))(
  '%s',
  (name, action) => {
    const names = [...Object.keys(action.parameters.properties), 'action', '__proto__', '$set']
    const valid = action.example.parameters as Record<string, unknown>

    it.each(['form', 'json', 'multipart', 'query'] as const)('survives any %s', async (as) => {
      await fc.assert(
        fc.asyncProperty(
          fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 6 }),
          fc.boolean(),
          async (fuzzed, isWhole) => {
            const params = isWhole ? { ...valid, ...fuzzed } : fuzzed
            const answer = await api.ask(name, JSON.parse(JSON.stringify(params)), { as })
            expect([400, 200], answer.text).toContain(answer.http)
            const hasRemovedNothing = name === 'api/remove' && answer['desc'] === 'success'
            if (answer['status'] === 0 && !hasRemovedNothing) {
              expect(answer['desc'], answer.text).toBe(answer['message'])
              expect(String(answer['desc']).length).toBeGreaterThan(4)
            }
          },
        ),
        { numRuns: 40 },
      )
    })
  },
)

describe('a cycle key that no cycle has', () => {
  const named = ACTIONS.flatMap((action) =>
    Object.keys(action.parameters.properties)
      .filter((name) => ['billrun_key', 'billrun', 'stamp', 'from', 'to'].includes(name))
      .map((field) => [String(pathsOf(action)[0]).slice(1), field, action] as const),
  )

  it.each(named)('%s refuses it in %s, or finds nothing', async (name, field, { example }) => {
    for (const key of ['000001', '196912', '217001', '999912']) {
      const answer = await api.ask(name, { ...example.parameters, [field]: key })
      expect([200, 400], `${key}: ${answer.text}`).toContain(answer.http)
    }
  })

  it.each(['billrun_key', 'credit_time'])(
    'a credit with it in %s stores no line',
    async (field) => {
      const credit = {
        aid: 1001,
        sid: 0,
        rate: 'UNTAXED',
        credit_time: '2026-06-10',
        usagev: 1,
        aprice: 5,
      }
      for (const [key, time] of [
        ['999912', '9999-12-31 12:00:00'],
        ['217001', '2170-01-01 12:00:00'],
      ]) {
        const sent = { ...credit, [field]: field === 'billrun_key' ? key : time }
        const answer = await api.ask('credit', sent)
        expect(answer, key).toMatchObject({ status: 0, desc: expect.stringContaining('cycle') })
      }
      const late = { ...credit, billrun_key: '216912', installments: 2 }
      const refusal = { status: 0, desc: '217001 is not a billing cycle' }
      expect(await api.ask('credit', late)).toMatchObject(refusal)
      const stored = { billrun: { $gt: '216912' } }
      expect(await api.catalog().lines.countDocuments(stored)).toBe(0)
    },
  )
})
