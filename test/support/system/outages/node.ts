/** A node with subscribers of known credit, shared by the tests of the outage matrix. */
import { readdirSync } from 'node:fs'
import { useOpened } from '../../opened.ts'
import { DEFAULT_LIMITS } from '../../product/patience.ts'
import { aidOf, FIRST_SID, populate } from '../../product/population.ts'
import { type Product, startProduct } from '../../product/product.ts'
import { startStoreProxy } from '../../store-proxy.ts'
import { waitUntil } from '../../wait.ts'
import { type Fields, type LedgerReader, openLedgerReader, post, type Reply } from '../exchange.ts'

export const MIB = 1024 * 1024
/** Micros of one MiB in the demo catalogue. */
export const MIB_PRICE = 10_000
export const MONEY = 100_000_000

export const GRANTED = { status: 200, returnCode: 1 }
export const DOWN = { status: 503, returnCode: -91, headers: { 'retry-after': '1' } }

export const DATA = { usaget: 'data', usagev: MIB }
const USED = { usaget: 'data', used_usagev: MIB }

/** The requests of one session: each reports one MiB and requests the next. */
export function session(session_id: string, sid: number) {
  const later = (kind: string, request_num: number, more: Fields) => ({
    record_type: `${kind}_request`,
    session_id,
    request_num,
    ...more,
  })
  return {
    sid,
    start: (more: Fields = DATA) => later('start', 0, { sid, ...more }),
    update: (number: number, more: Fields = { ...USED, ...DATA }) => later('update', number, more),
    release: (number: number) => later('release', number, USED),
    event: () => later('event', 0, { sid, ...DATA }),
  }
}

/** The state of a bucket after this many MiB were spent and reserved. */
export function money(spentMib: number, reservedMib: number) {
  const [spent, reserved] = [spentMib * MIB_PRICE, reservedMib * MIB_PRICE]
  return { credited: MONEY, spent, reserved, free: MONEY - spent - reserved }
}

export interface TestNode {
  product: Product
  reader: LedgerReader
  send(body: Fields): Promise<Reply>
  /** Repeats a request until its outcome is known. */
  insist(body: Fields): Promise<Reply>
  /** The single money bucket, in micros. */
  moneyOf(sid: number): Promise<ReturnType<typeof money>>
  stop(): Promise<void>
}

export interface NodeOptions {
  subscribers: number
  /** Read when a role starts: later changes apply to roles started afterwards. */
  environment?: Record<string, string>
}

/** Stores and subscribers, each with an account of its own; the test starts the roles. */
export async function startNode({ subscribers, environment = {} }: NodeOptions): Promise<TestNode> {
  const product = await startProduct({ appendfsync: 'always', environment })
  try {
    const credits = [{ prepaidIncludeId: 1, amount: MONEY }]
    await populate({ ...product, subscribers, subscribersPerAccount: 1, credits })
    return nodeOf(product, await openLedgerReader(product.redisUrl))
  } catch (error) {
    await product.stop()
    throw error
  }
}

/** The same for the tests of a file. */
export function useNode(options: NodeOptions): () => TestNode {
  return useOpened(
    () => startNode(options),
    (node) => node.stop(),
  )
}

/** A node that reaches one of its stores through a proxy, with the limits of a real one. */
export function useNodeBehind(store: 'redis' | 'mongo', subscribers: number) {
  const environment: Record<string, string> = { ...DEFAULT_LIMITS }
  const open = async () => {
    const node = await startNode({ subscribers, environment })
    const { product } = node
    const proxy = await startStoreProxy(store === 'redis' ? product.redisUrl : product.mongoUrl)
    environment[`TOLLGATE_${store.toUpperCase()}_URL`] = proxy.url
    await product.start('realtime')
    await product.start('admin')
    return { node, proxy }
  }
  const opened = useOpened(open, async ({ node, proxy }) => {
    await node.stop()
    await proxy.close()
  })
  return { node: () => opened().node, proxy: () => opened().proxy }
}

function nodeOf(product: Product, reader: LedgerReader): TestNode {
  const send = (body: Fields) => post(product.realtimePort, body)
  return {
    product,
    reader,
    send,
    insist: (body) => insistOn(() => send(body)),
    moneyOf: (sid) => moneyIn(reader, sid),
    async stop() {
      await reader.close()
      await product.stop()
    },
  }
}

/** Sends until the answer is not an outage. */
export async function insistOn(send: () => Promise<Reply>): Promise<Reply> {
  let reply: Reply | undefined
  await waitUntil('a definite answer', async () => {
    reply = await send().catch(() => undefined)
    return reply !== undefined && reply.status !== 503
  })
  return reply as Reply
}

export async function moneyIn(
  reader: LedgerReader,
  sid: number,
): Promise<ReturnType<typeof money>> {
  const { buckets } = await reader.ownerOf(aidOf(sid - FIRST_SID, 1), sid)
  const { credited = 0, spent = 0, reserved = 0, free = 0 } = buckets[0] ?? {}
  return { credited, spent, reserved, free }
}

/** Open files and sockets of a process. */
export function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length
}

/** Waits until a process has no more files and sockets open than before. */
export async function expectNoLeak(pid: number, before: number): Promise<void> {
  await waitUntil(`at most ${before} open files`, () => openFiles(pid) <= before)
}
