/** An installation that starts in the past, charges a session, and is moved a month forward. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postJson } from '../support/post-json.ts'
import { FIRST_AID, FIRST_SID, populate } from '../support/product/population.ts'
import { type Product, startProduct } from '../support/product/product.ts'
import { tollgate } from '../support/system/command.ts'
import {
  type LedgerReader,
  openLedgerReader,
  post,
  withCatalog,
} from '../support/system/exchange.ts'
import { waitUntil } from '../support/wait.ts'

const START = '2024-01-10T12:00:00Z'
const LATER = '2024-02-10T12:00:00Z'
const START_MS = Date.parse(START)
const LATER_MS = Date.parse(LATER)
const HOUR_MS = 3_600_000
const MIB = 1024 * 1024
const environment = { TOLLGATE_CLOCK: START, TOLLGATE_CLOCK_TEST: 'true' }

let product: Product
let reader: LedgerReader

beforeAll(async () => {
  product = await startProduct({ environment })
  const credits = [{ prepaidIncludeId: 1, amount: 1_000_000_000 }]
  await populate({ ...product, subscribers: 1, subscribersPerAccount: 1, credits })
  for (const role of ['realtime', 'admin', 'recorder'] as const) await product.start(role)
  reader = await openLedgerReader(product.redisUrl)
})
afterAll(async () => {
  await reader?.close()
  await product?.stop()
})

const ask = (kind: string, session_id: string, request_num: number, more: object = {}) =>
  post(product.realtimePort, {
    record_type: `${kind}_request`,
    session_id,
    request_num,
    sid: FIRST_SID,
    usaget: 'data',
    ...more,
  })

interface FoundLine {
  urt: Date
  last_urt: Date
  state: string
  billrun: string
}

async function linesOf(session_id: string): Promise<FoundLine[]> {
  return withCatalog(product, async ({ lines }) => {
    return (await lines.find({ session_id }).toArray()) as unknown as FoundLine[]
  })
}

async function clockCall(params?: object): Promise<Record<string, unknown>> {
  const url = `${product.adminUrl}/api/clock`
  const response = await (params === undefined ? fetch(url) : postJson(url, params))
  const answer = (await response.json()) as { details?: Record<string, unknown> }
  return answer.details ?? (answer as Record<string, unknown>)
}

const within = (at: Date | undefined, fromMs: number) => {
  expect(at?.getTime()).toBeGreaterThanOrEqual(fromMs)
  expect(at?.getTime()).toBeLessThan(fromMs + HOUR_MS)
}

describe('an installation with a clock of its own', () => {
  it('charges at the time at which it was started, and refuses the future', async () => {
    const start = await ask('start', 'abandoned', 0, { usagev: 10 * MIB })
    expect(start.returnCode).toBe(1)
    const update = await ask('update', 'abandoned', 1, { used_usagev: 4 * MIB, usagev: 10 * MIB })
    expect(update.returnCode).toBe(1)
    const real = await ask('event', 'future', 0, { usagev: MIB, urt: new Date().toISOString() })
    expect(real.status).toBe(400)
    within(new Date(String((await clockCall())['now'])), START_MS)
  })

  it('ends the session on the way of a month, with the time of its usage', async () => {
    const moved = await clockCall({ to: LATER })
    const ran = moved['ran'] as { job: string; at: string; counts: object }[]
    const expiries = ran.filter(({ job }) => job === 'sessions')
    // The sweeper of the recorder follows the clock too, and may be the first one.
    for (const { counts, at } of expiries) {
      expect(counts).toEqual({ expired: 1 })
      expect(Date.parse(at)).toBeGreaterThan(START_MS)
      expect(Date.parse(at)).toBeLessThan(START_MS + 24 * HOUR_MS)
    }
    expect(expiries.length).toBeLessThan(2)
    const [line, ...others] = await linesOf('abandoned')
    expect(others).toEqual([])
    expect(line).toMatchObject({ state: 'expired', billrun: '202402' })
    within(line?.urt, START_MS)
    within(line?.last_urt, START_MS)
    const { buckets } = await reader.ownerOf(FIRST_AID, FIRST_SID)
    expect(buckets.map(({ reserved }) => reserved)).toEqual([0])
  })

  it('has moved every process when the move is answered', async () => {
    expect((await ask('event', 'after', 0, { usagev: MIB })).returnCode).toBe(1)
    await waitUntil('its line is recorded', async () => (await linesOf('after')).length === 1)
    within((await linesOf('after'))[0]?.urt, LATER_MS)
  })

  it('runs on over a crash of charging', async () => {
    await product.kill9('realtime')
    await product.start('realtime')
    expect((await ask('event', 'restarted', 0, { usagev: MIB })).returnCode).toBe(1)
    await waitUntil('its line is recorded', async () => (await linesOf('restarted')).length === 1)
    within((await linesOf('restarted'))[0]?.urt, LATER_MS)
  })

  it('is shown and moved by the command, and never goes back', async () => {
    const run = (args: string[], more = {}) => tollgate(product, args, { ...environment, ...more })
    const shown = await run(['clock', '--json'])
    expect(JSON.parse(shown.stdout)).toMatchObject({ test: true, start: START })
    const moved = await run(['clock', '--to', '2024-03-10T12:00:00Z'])
    expect(moved.stdout).toMatch(/^moved from 2024-02-10T.* to 2024-03-10T/)
    await waitUntil('charging follows', async () => {
      return Date.parse(String((await clockCall())['now'])) >= Date.parse('2024-03-10T12:00:00Z')
    })
    const back = await run(['clock', '--to', LATER])
    expect(back.code).toBe(1)
    expect(back.stderr).toMatch(/to is before 2024-03-10T.*: the clock never goes back/)
    const refused = await run(['clock'], { TOLLGATE_CLOCK: '2024-01-01T00:00:00Z' })
    expect(refused.stderr).toMatch(/clock\.start is 2024-01-01T00:00:00Z, but the installation has/)
  })
})
