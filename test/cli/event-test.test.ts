/** `tollgate event test` on the running product, with the rule of the demo. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { createProduct, type Started } from '../support/cli/product.ts'
import { useOpened } from '../support/opened.ts'
import { postJson } from '../support/post-json.ts'

const MIB = 1024 * 1024

let tollgate: Started

const product = useOpened(createProduct)
beforeAll(async () => {
  tollgate = await product().start()
})

type Fields = Record<string, unknown>

const usage = (sid: number, units: number) => [
  ...['--sid', String(sid), '--usaget', 'data', '--usagev', String(units)],
]
const test = (rule: string, sid: number, units: number, ...more: string[]) =>
  product().run('event', 'test', rule, ...usage(sid, units), ...more)

async function events(): Promise<Fields[]> {
  const { stdout } = await product().run('event', 'list', '--json')
  return JSON.parse(stdout)
}

async function charge(units: number, session_id: string): Promise<Fields> {
  const request = { record_type: 'event_request', session_id, request_num: 0, sid: 1001 }
  const body = { ...request, usaget: 'data', usagev: units }
  const answer = await postJson(`${tollgate.realtime}/realtime`, body)
  return (await answer.json()) as Fields
}

function file(name: string, rule: unknown): string {
  const path = join(product().dataDir, name)
  writeFileSync(path, JSON.stringify(rule))
  return path
}

/** Without times, the delivery, and the session of the usage. */
function comparable(event: Fields): Fields {
  const { creation_time: _, start_notify_time: __, extra_params: params, ...more } = event
  const { notify_time: _notified, returned_value: _returned, ...same } = more
  const { row, ...owner } = params as { row: Fields }
  const { stamp: ___, urt: ____, ...used } = row
  return { ...same, extra_params: { ...owner, row: used } }
}

describe('tollgate event test', () => {
  it('shows the event that the next request makes, and writes nothing', async () => {
    const { code, stdout, stderr } = await test('DATA_10_MIB', 1001, 25 * MIB, '--json')
    expect([code, stderr]).toEqual([0, ''])
    const { rules } = JSON.parse(stdout)
    expect(rules).toMatchObject([
      { event_code: 'DATA_10_MIB', plan: 'DEMO_PREPAID', excluded_by: null, returnCode: 1 },
    ])
    const [{ events: shown, balances }] = rules
    expect(balances).toMatchObject([{ sid: 1001, tested: true, met: true }])
    expect(await events()).toEqual([])
    expect(await charge(25 * MIB, 'one')).toMatchObject({ returnCode: 1 })
    await expect.poll(async () => (await events()).length).toBe(1)
    const [{ receiver, delivery, ...stored } = {}] = await events()
    expect(receiver).toEqual({ url: 'http://127.0.0.1:8183/', method: 'get' })
    expect(delivery).toMatchObject({ state: expect.any(String), attempts: expect.any(Number) })
    expect(shown.map(comparable)).toEqual([comparable(stored)])
    expect(stored).toMatchObject({ before: 0, after: 25 * MIB, reached_constant: 20 * MIB })
  })

  it('shows an event that is sent: the address of the demo is permitted', async () => {
    const outcome = async () => {
      const [{ delivery } = {}] = await events()
      const { state, error = '' } = delivery as { state: string; error?: string }
      return state === 'delivered' ? state : error
    }
    // Another program may listen at the address.
    await expect.poll(outcome).toMatch(/^(delivered$|(?!address)[A-Za-z ]+: )/)
  })

  it('prints the conditions with their values for people', async () => {
    const { code, stdout } = await test('DATA_10_MIB', 1001, 5 * MIB)
    expect(code).toBe(0)
    const lines = stdout.trimEnd().split('\n')
    expect(lines.slice(0, -1)).toEqual([
      'DATA_10_MIB: 5242880 data used by subscriber 1001 of account 1, plan DEMO_PREPAID',
      '  bucket 2 of subscriber 1001 (include 2): met',
      '    is: met',
      '      pp_includes_external_id: 2 -> 2 (2): met',
      '    reached_constant_recurring: met, its paths are reported',
      '      spent: 26214400 -> 31457280 (10485760): met, reached 31457280',
    ])
    expect(lines.at(-1)).toMatch(
      /^ {2}event [0-9a-f]{32} of type balance: spent 26214400 -> 31457280, reached 31457280$/,
    )
  })

  it('exits with 1 if there is no event, and says why', async () => {
    const below = await test('DATA_10_MIB', 1001, 1)
    expect(below.code).toBe(1)
    expect(below.stdout).toMatch(
      /spent: 26214400 -> 26214401 \(10485760\): not met\n {2}no event\n$/,
    )
    const barred = await test('DATA_10_MIB', 1004, 1)
    expect([barred.code, barred.stdout]).toEqual([
      1,
      'DATA_10_MIB: 1 data used by subscriber 1004 of account 1\n' +
        '  denied (Subscriber is barred): nothing is counted, no event\n',
    ])
  })

  it('tries a rule of a file', async () => {
    const condition = { type: 'has_changed', path: 'balance.totals.data.usagev' }
    const rule = { event_code: 'OTHER', filter: { plan: ['GOLD'] }, conditions: [condition] }
    const other = await test(file('other.json', rule), 1001, 1)
    expect([other.code, other.stdout.split('\n')[1]]).toEqual([
      1,
      '  the rule is not for plan DEMO_PREPAID (filter.plan)',
    ])
    const { filter, ...all } = rule
    expect((await test(file('all.json', all), 1001, 1)).code).toBe(0)
    const off = await test(file('off.json', { ...all, active: false }), 1001, 1)
    expect(off.stdout.split('\n')[1]).toBe('  the rule is off (active: false)')
    const postpaid = { ...all, conditions: [{ ...condition, path: 'balance.groups.G.usagev' }] }
    const none = await test(file('none.json', postpaid), 1001, 1)
    expect([none.code, none.stdout.split('\n')[1]]).toEqual([
      1,
      '  bucket 2 of subscriber 1001 (include 2): not tested: ' +
        'it has no such path, or the value does not change',
    ])
  })

  it('refuses what is not a rule, by name', async () => {
    const path = file('invalid.json', { event_code: 'X', conditions: [{ type: 'is', path: 'x' }] })
    const cases: [string[], number, string][] = [
      [['NONE', ...usage(1001, 1)], 1, 'there is no stored rule NONE, and no such file'],
      [[path, ...usage(1001, 1)], 1, `${path}: conditions.0.value is missing`],
      [['DATA_10_MIB', ...usage(9, 1)], 1, 'there is no subscriber 9 at '],
      [['DATA_10_MIB', '--usaget', 'data', '--usagev', '1'], 2, '--sid is missing'],
      [['DATA_10_MIB', '--sid', '1001', '--usagev', '1'], 2, '--usaget is missing'],
      [['DATA_10_MIB', '--sid', '1001', '--usaget', 'data'], 2, '--usagev is missing'],
      [usage(1001, 1), 2, 'event test: RULE is missing'],
    ]
    for (const [args, code, why] of cases) {
      const refused = await product().run('event', 'test', ...args)
      expect([refused.code, refused.stderr]).toEqual([
        code,
        expect.stringContaining(`tollgate: ${why}`),
      ])
    }
  })

  it('says that a rule is of another kind', async () => {
    const hour = { type: 'hourly', value: 1 }
    const times = { recurrence: hour, date_range: hour }
    const above = [[{ field: 'usagev', op: 'gt', value: 10 }]]
    const patterns = { fraud: [{ event_code: 'USE', ...times, threshold_conditions: above }] }
    const path = file('fraud.json', patterns)
    expect(await product().run('settings', 'set', 'events', path)).toMatchObject({ code: 0 })
    expect(await test('USE', 1001, 1)).toMatchObject({
      code: 1,
      stderr: 'tollgate: USE is a rule of usage patterns: only rules of balances are tested\n',
    })
  })
})
