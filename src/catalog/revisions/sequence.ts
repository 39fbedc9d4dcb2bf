/** Sequence of the numbers of accounts and subscribers. */
import type { Catalog } from '../connection.ts'
import { isInserted } from '../transactions/duplicate.ts'

const ID = 'sequence:subscribers'

/**
 * Takes `count` consecutive numbers and returns the first. They are higher than every `aid` and
 * `sid` at the creation of the sequence, and than those of `raiseSequence`; numbers assigned
 * otherwise since then may collide.
 */
export async function takeNumbers(catalog: Catalog, count: number): Promise<number> {
  const increase = () =>
    catalog.counters.findOneAndUpdate(
      { _id: ID },
      { $inc: { seq: count } },
      { returnDocument: 'after' },
    )
  let counter = await increase()
  if (counter === null) {
    await begin(catalog)
    counter = await increase()
  }
  if (counter === null) throw new Error('the sequence of numbers was not returned')
  return counter.seq - count + 1
}

/** The number that `takeNumbers` would return as the one of this position, from 1; takes none. */
export async function nextNumber(catalog: Catalog, position: number): Promise<number> {
  const counter = await catalog.counters.findOne({ _id: ID })
  return (counter?.seq ?? (await highestNumber(catalog))) + position
}

/** Numbers up to this one, which another system has assigned, are not taken. */
export async function raiseSequence(catalog: Catalog, number: number): Promise<void> {
  const raise = () => catalog.counters.updateOne({ _id: ID }, { $max: { seq: number } })
  const { matchedCount } = await raise()
  if (matchedCount > 0) return
  await begin(catalog)
  await raise()
}

async function begin(catalog: Catalog): Promise<void> {
  const seq = await highestNumber(catalog)
  await isInserted(catalog.counters.insertOne({ _id: ID, seq }))
}

async function highestNumber(catalog: Catalog): Promise<number> {
  return Math.max(...(await Promise.all([highest(catalog, 'aid'), highest(catalog, 'sid')])))
}

async function highest(catalog: Catalog, field: 'aid' | 'sid'): Promise<number> {
  const [found] = await catalog.subscribers
    .find({}, { projection: { _id: 0, [field]: 1 } })
    .sort({ [field]: -1 })
    .limit(1)
    .toArray()
  const value = (found as Readonly<Record<string, unknown>> | undefined)?.[field]
  return typeof value === 'number' ? value : 0
}
