import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { useTollgate } from '../support/cli/tollgate.ts'
import { type Crm, customerSettings, startCrm } from '../support/external/example-crm.ts'

type Fields = Record<string, unknown>

const tollgate = useTollgate({ TOLLGATE_EXTERNAL_PRIVATE_RANGES: '127.0.0.0/8' })
let crm: Crm
const account: Fields = {
  type: 'account',
  aid: 17,
  from: '2020-01-01 00:00:00',
  to: '2170-01-01 00:00:00',
  creation_time: '2020-01-01 00:00:00',
  activation_date: '2020-01-01 00:00:00',
  email: 'ada@example.org',
  address: '1 Mill Road',
  invoice_shipping_method: 'email',
  invoice_detailed: false,
  services: [],
}
const subscriber: Fields = {
  ...account,
  type: 'subscriber',
  sid: 171,
  plan: 'GOLD',
  plan_activation: '2020-01-01 00:00:00',
  play: '',
  firstname: 'Ada',
  lastname: 'Byron',
}
const other = (aid: number) => [
  { ...account, aid },
  { ...subscriber, aid, sid: aid * 10 },
]

beforeEach(async () => {
  crm = await startCrm([account, subscriber, ...other(18), ...other(19)])
  await store(customerSettings(crm.url))
})
afterEach(() => crm.stop())

function store(value: Fields) {
  const more = { rev: 1, changed: new Date(0), changed_by: 'hand' }
  return tollgate.catalog().config.replaceOne({ _id: 'subscribers' }, { value, ...more } as never, {
    upsert: true,
  })
}

interface Report {
  ok: boolean
  calls: {
    call: string
    asked: string
    findings: { level: string; field: string; problem: string }[]
  }[]
}

function check(...args: string[]) {
  return tollgate.run('external', 'check', '--aid', '17', '--sid', '171', ...args)
}

async function findings(): Promise<string[]> {
  const { code, stdout, stderr } = await check('--json')
  expect(stderr).toBe('')
  const report = JSON.parse(stdout) as Report
  expect(code).toBe(report.ok ? 0 : 1)
  return report.calls.flatMap((each) =>
    each.findings.map(({ level, field, problem }) => `${each.call} ${level}: ${field} ${problem}`),
  )
}

describe('tollgate external check', () => {
  it('finds nothing wrong with the example, by five requests', async () => {
    expect(await findings()).toEqual([])
    expect(crm.asked.map(({ path, body }) => [path, body['page'], body['aids']])).toEqual([
      ['/billable', 0, '17'],
      ['/billable', 0, undefined],
      ['/billable', 1, undefined],
      ['/accounts', undefined, undefined],
      ['/subscribers', undefined, undefined],
    ])
    const { code, stdout } = await check()
    expect(code).toBe(0)
    expect(stdout).toMatch(/^billable \(aids 17\): ok, \d+ ms\nbillable \(page 0 of 2\): ok, /)
  })

  it('names the fields that are wrong, and ends with 1', async () => {
    subscriber['plan'] = ''
    const found = await findings()
    subscriber['plan'] = 'GOLD'
    expect(found).toContain('billable error: data.1.plan is missing')
    expect(found).toContain('subscriber error: 0.plan is missing')
  })

  it('finds pages that overlap', async () => {
    crm.disturb = ({ body }, response) => {
      if (body['page'] !== 1) return false
      response.end(JSON.stringify({ status: 1, data: other(18), options: [] }))
      return true
    }
    expect(await findings()).toEqual([
      'billable error: data billable accounts, page 1: account 18 is on an earlier page, which ' +
        'ended with account 18: pages must be sorted and not overlap',
    ])
  })

  it('says why a call has no answer', async () => {
    await store({ ...customerSettings(crm.url), billable: {} })
    crm.disturb = ({ path }, response) => {
      if (path === '/accounts') response.writeHead(302, { location: '/' }).end()
      else if (path === '/subscribers') response.end('<html>')
      return true
    }
    const found = await findings()
    expect(found.map((text) => text.replace(/ +/g, ' '))).toEqual([
      ...Array(2).fill('billable error: cannot be read: subscribers.billable.url is not set'),
      'account error: cannot be read: it redirects (302), which is not followed',
      'subscriber error: cannot be read: its answer is not JSON',
    ])
  })

  it.each([
    [['--aid', 'x', '--sid', '1'], '--aid must be a number'],
    [['--aid', '1'], '--sid is missing'],
  ])('%j is refused', async (args, text) => {
    const { code, stderr } = await tollgate.run('external', 'check', ...args)
    expect(code).toBe(2)
    expect(stderr).toContain(text)
  })
})
