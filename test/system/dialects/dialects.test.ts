/** The same session in every message format: balances and lines must be identical. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Client } from '../../support/product/charge-client.ts'
import { aidOf, FIRST_SID, populate } from '../../support/product/population.ts'
import { type Product, startProduct } from '../../support/product/product.ts'
import { tollgate } from '../../support/system/command.ts'
import { type DialectAdapter, plainJson } from '../../support/system/dialects/adapter.ts'
import { DIALECTS as ALIKE, setAllFileTypes } from '../../support/system/dialects/all.ts'
import { totals } from '../../support/system/dialects/totals.ts'
import { diameterWire } from '../../support/system/diameter/wire.ts'
import {
  type Fields,
  type LedgerReader,
  openLedgerReader,
  withCatalog,
} from '../../support/system/exchange.ts'
import { waitUntil } from '../../support/wait.ts'

const wire = diameterWire(() => product.diameterPort)
const DIALECTS = [...ALIKE, totals(), wire]
const MIB = 1024 * 1024
/**
 * Micros; the demo catalogue charges 2,000 for a MiB of the first rating group, otherwise 10,000.
 */
const MONEY = 50_000

let product: Product
let reader: LedgerReader

beforeAll(async () => {
  product = await startProduct()
  const credits = [{ prepaidIncludeId: 1, amount: MONEY }]
  const size = { subscribers: DIALECTS.length, subscribersPerAccount: 1 }
  await populate({ ...product, ...size, credits })
  await setAllFileTypes(product)
  await product.start('realtime')
  await product.start('admin')
  reader = await openLedgerReader(product.redisUrl)
})
afterAll(async () => {
  await reader?.close()
  await product?.stop()
})

async function bucketsOf(index: number) {
  const { buckets } = await reader.ownerOf(aidOf(index, 1), FIRST_SID + index)
  return buckets.map(({ credited, spent, reserved, free }) => ({ credited, spent, reserved, free }))
}

async function linesOf(session: RegExp) {
  let lines: Record<string, unknown>[] = []
  await waitUntil('the lines of both rating groups', async () => {
    lines = await withCatalog(product, (catalog) =>
      catalog.lines.find({ session_id: session }).sort({ rating_group: 1, stamp: 1 }).toArray(),
    )
    return lines.length >= 2 && lines.every(({ state }) => state !== 'open')
  })
  const own = [
    '_id',
    'stamp',
    'aid',
    'sid',
    'origin',
    'session_id',
    'urt',
    'last_urt',
    'process_time',
    // In the last hour of a cycle, with the time.
    'uninvoiced',
  ]
  return lines.map((line) =>
    Object.fromEntries(Object.entries(line).filter(([name]) => !own.includes(name))),
  )
}

interface Answer {
  returnCode: number
  services: { returnCode: number; grantedVolume: number; finalUnit: boolean }[]
}

/** A data session with two rating groups: exhausted, topped up, resumed. */
async function runSession(dialect: DialectAdapter, index: number) {
  const { path, contentType, open } = dialect
  const client = open?.() ?? new Client(product.realtimePort, path, contentType)
  const session_id = `story-${index}`
  const sid = FIRST_SID + index
  const services = (...amounts: readonly { usagev?: number; used_usagev?: number }[]) =>
    amounts.map((amount, group) => ({ rating_group: 10 + 10 * group, usaget: 'data', ...amount }))
  const send = async (record_type: string, request_num: number, more: readonly Fields[]) => {
    const body = dialect.write({ record_type, session_id, request_num, sid, services: more })
    const { status, body: text } = await client.post(body)
    expect(status, text).toBe(200)
    const again = await client.post(body)
    expect(again.body, 'repeated').toBe(text)
    return dialect.read(text) as unknown as Answer
  }
  const outcomes: string[] = []
  const record = async (...request: Parameters<typeof send>) => {
    const { returnCode, services: answers = [] } = await send(...request)
    const grants = answers.map((one) =>
      [one.returnCode, one.grantedVolume, one.finalUnit].join(' '),
    )
    const buckets = (await bucketsOf(index)).map(({ spent, reserved, free }) =>
      [`spent ${spent}`, `reserved ${reserved}`, `free ${free}`].join(' '),
    )
    outcomes.push([returnCode, ...grants, ...buckets].join(' | '))
    return answers
  }
  await record('start_request', 0, services({ usagev: 4 * MIB }, { usagev: 3 * MIB }))
  // The remaining money is granted to the first; the second is denied.
  const [first] = await record('update_request', 1, [
    ...services(
      { used_usagev: 4 * MIB, usagev: 20 * MIB },
      { used_usagev: 2 * MIB, usagev: 3 * MIB },
    ),
  ])
  const used_usagev = first?.grantedVolume ?? 0
  await record('update_request', 2, services({ used_usagev, usagev: MIB }, { usagev: MIB }))
  const add = ['balance', 'add', '--sid', String(sid), '--include', '1', '--amount', '0.05']
  expect(await tollgate(product, add)).toMatchObject({ code: 0 })
  await record('update_request', 3, services({ usagev: 2 * MIB }, { usagev: MIB }))
  await record('release_request', 4, services({ used_usagev: MIB }, { used_usagev: 1 }))
  client.close()
  return {
    outcomes,
    buckets: await bucketsOf(index),
    lines: await linesOf(new RegExp(`^${session_id}`)),
  }
}

describe('a session with two rating groups, exhausted, topped up and resumed', () => {
  let first: Awaited<ReturnType<typeof runSession>>

  it('in plain JSON is granted, charged and recorded', async () => {
    first = await runSession(plainJson, 0)
    expect(first.lines.length).toBeGreaterThanOrEqual(2)
    expect(first.outcomes).toMatchInlineSnapshot(`
      [
        "1 | 1 4194304 false | 1 3145728 false | spent 0 reserved 38000 free 12000",
        "1 | 1 6291456 true | 1 1048576 true | spent 28000 reserved 22000 free 0",
        "1 | -1 0 true | 1 1048576 true | spent 40000 reserved 10000 free 0",
        "1 | 1 2097152 false | 1 1048576 false | spent 40000 reserved 14000 free 46000",
        "1 | 1 0 false | 1 0 false | spent 52000 reserved 0 free 48000",
      ]
    `)
  })

  it.each(DIALECTS.slice(1).map((dialect, index) => [dialect.name, dialect, index + 1] as const))(
    'in %s has the same grants, balances and lines',
    async (_name, dialect, index) => {
      expect(await runSession(dialect, index)).toEqual(first)
    },
  )
})
