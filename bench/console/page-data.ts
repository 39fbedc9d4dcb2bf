/** Many subscribers, and one with many lines, beside the customer of the tests of the console. */
import type { CustomerScene } from '../../test/support/console/customer-scene.ts'

const BATCH = 5_000
/** Beyond those that the node has numbered. */
const FIRST_ID = 1_000_000
export const LINES_SID = 4_711
const SYLLABLES = ['ka', 'lo', 'mi', 'ter', 'ban', 'sol', 'gru', 'pex', 'win', 'ard', 'fe', 'zun']
const SECOND_MS = 1_000
const NEWEST_MS = Date.UTC(2026, 5, 1)

/** A name of four syllables; two of them begin one of 144 names each. */
function nameOf(index: number): string {
  let rest = index
  let name = ''
  for (let at = 0; at < 4; at += 1) {
    name += SYLLABLES[rest % SYLLABLES.length] ?? ''
    rest = Math.floor(rest / SYLLABLES.length)
  }
  return name.charAt(0).toUpperCase() + name.slice(1)
}

/** The begin of some thousandth of the names. */
export const NAME_PREFIX = nameOf(17).slice(0, 4)

type Document = Record<string, unknown>

/** Copies of the customer with other numbers and names. */
export async function addSubscribers(scene: CustomerScene, count: number): Promise<void> {
  const { catalog } = scene
  const { _id, ...ada } = await currentRevision(scene)
  await insert(catalog.subscribers, count, (index) => ({
    ...ada,
    sid: FIRST_ID + index,
    aid: FIRST_ID + Math.floor(index / 2),
    firstname: nameOf(index * 7_919),
    lastname: nameOf(index),
    email: `${nameOf(index * 104_729).toLowerCase()}.${index}@example.org`,
    msisdn: `4479${String(index).padStart(8, '0')}`,
    imsi: [`23416${String(index).padStart(10, '0')}`],
  }))
}

/** One subscriber with copies of the line of the customer, one a second. */
export async function addLines(scene: CustomerScene, count: number): Promise<void> {
  const { catalog, aid } = scene
  const { _id: ofSubscriber, ...ada } = await currentRevision(scene)
  await catalog.subscribers.insertOne({ ...ada, sid: LINES_SID, imsi: [], msisdn: '' } as never)
  const [used] = await catalog.lines.find({ session_id: 'call-1' } as object).toArray()
  const { _id: ofLine, ...line } = used as unknown as Document
  await insert(catalog.lines, count, (index) => ({
    ...line,
    aid,
    sid: LINES_SID,
    stamp: `many-${index}`,
    session_id: `many-${index}`,
    urt: new Date(NEWEST_MS - index * SECOND_MS),
  }))
}

/** Cases of the tariff bench, one in a line, with two calls each. */
export function casesText(count: number): string {
  const price = (each: number) => ({
    rate: [
      { from: 0, to: 60, interval: 1, price: each },
      { from: 60, to: 'UNLIMITED', interval: 60, price: each * 2 },
    ],
  })
  const rateOf = (key: string) => ({ key, rates: { call: { BASE: price(0.01) } } })
  const groups = { CALLS: { value: 30, usage_types: { call: {} } } }
  const cases = Array.from({ length: count }, (_, index) => ({
    name: `case ${index}`,
    catalogue: {
      rates: [rateOf('CALL'), rateOf('OTHER'), rateOf('THIRD')],
      plans: [{ name: 'P', include: { groups } }],
      taxes: [{ key: 'DEFAULT_VAT', rate: 0.17 }],
      prepaidincludes: [{ external_id: 7, charging_by: 'total_cost' }],
    },
    subscriber: { plan: 'P', buckets: [{ pp_includes_external_id: 7, value: 1_000 }] },
    events: Array.from({ length: 2 }, (__, call) => {
      return { usaget: 'call', usagev: 61 + index + call, rate: 'CALL', urt: '2026-01-05' }
    }),
  }))
  return cases.map((each) => JSON.stringify(each)).join('\n')
}

async function currentRevision({ catalog, sid }: CustomerScene): Promise<Document> {
  const revisions = catalog.subscribers.find({ sid } as object, { sort: { from: -1 }, limit: 1 })
  const [current] = await revisions.toArray()
  return current as unknown as Document
}

interface Collection {
  insertMany(documents: never[], options: { ordered: boolean }): Promise<unknown>
}

async function insert(
  collection: Collection,
  count: number,
  documentOf: (index: number) => Document,
): Promise<void> {
  let next = 0
  const filler = async () => {
    while (next < count) {
      const from = next
      next = Math.min(next + BATCH, count)
      const documents = Array.from({ length: next - from }, (_, at) => documentOf(from + at))
      await collection.insertMany(documents as never[], { ordered: false })
    }
  }
  // One encodes while the store writes the batch of the other.
  await Promise.all([filler(), filler()])
}
