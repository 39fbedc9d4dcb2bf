/** What transactions on a collection with the fields `_id` and `key`, both unique, should do. */

/** `[id, key]` of all documents, in descending order of their keys, or how a write ended. */
export type Answer = 'done' | 'conflict' | 'duplicate' | 'locked' | [id: number, key: number][]

/** All that is stored, under one name each: documents by number, ids and keys with that number. */
type State = ReadonlyMap<string, number>

type Work = {
  /** What was stored when the transaction began; without a transaction, what is stored. */
  readonly before: State
  readonly writes: Map<string, number | undefined>
}

class Stop extends Error {
  readonly answer: 'conflict' | 'duplicate' | 'locked'

  constructor(answer: 'conflict' | 'duplicate' | 'locked') {
    super(answer)
    this.answer = answer
  }
}

/** Snapshot isolation in which the first writer wins, with whole copies instead of versions. */
export class IsolationModel {
  #stored: State = new Map()
  #lastNumber = 0
  readonly #open: (Work | undefined)[]
  readonly #transactions: number

  constructor(transactions: number) {
    this.#transactions = transactions
    this.#open = Array.from({ length: transactions }, () => undefined)
  }

  run(
    by: number,
    kind: 'put' | 'remove' | 'read' | 'commit' | 'abort',
    id: number,
    key: number,
  ): Answer {
    const isInside = by < this.#transactions
    if (kind === 'commit' || kind === 'abort') {
      const work = this.#open[by]
      this.#open[by] = undefined
      if (kind === 'commit' && work) this.#apply(work)
      return 'done'
    }
    const work = this.#open[by] ?? { before: this.#stored, writes: new Map() }
    if (isInside) this.#open[by] = work
    try {
      if (kind === 'read') return read(seen(work))
      if (kind === 'put') this.#put(work, id, key)
      else this.#remove(work, id)
      if (!isInside) this.#apply(work)
      return 'done'
    } catch (error) {
      if (!(error instanceof Stop)) throw error
      if (isInside) this.#open[by] = undefined
      return error.answer === 'conflict' && !isInside ? 'locked' : error.answer
    }
  }

  #put(work: Work, id: number, key: number): void {
    const state = seen(work)
    const number = state.get(`id ${id}`)
    const oldKey = number === undefined ? undefined : state.get(`doc ${number}`)
    if (oldKey === key) return
    const holder = state.get(`key ${key}`)
    if (holder !== undefined) {
      this.#checkIfInside(work, `key ${key}`)
      throw new Stop('duplicate')
    }
    const own = number ?? ++this.#lastNumber
    this.#write(work, `doc ${own}`, key)
    if (number === undefined) this.#write(work, `id ${id}`, own)
    if (oldKey !== undefined) this.#write(work, `key ${oldKey}`, undefined)
    this.#write(work, `key ${key}`, own)
  }

  #remove(work: Work, id: number): void {
    const state = seen(work)
    const number = state.get(`id ${id}`)
    if (number === undefined) return
    this.#write(work, `id ${id}`, undefined)
    this.#write(work, `key ${state.get(`doc ${number}`)}`, undefined)
    this.#write(work, `doc ${number}`, undefined)
  }

  #write(work: Work, name: string, value: number | undefined): void {
    this.#check(work, name)
    work.writes.set(name, value)
  }

  /** A key that another document has in what is stored is a duplicate in any case. */
  #checkIfInside(work: Work, name: string): void {
    if (this.#open.includes(work)) this.#check(work, name)
  }

  #check(work: Work, name: string): void {
    const isLocked = this.#open.some((other) => other !== work && other?.writes.has(name))
    if (isLocked) throw new Stop('conflict')
    if (work.writes.has(name)) return
    if (work.before.get(name) !== this.#stored.get(name)) throw new Stop('conflict')
  }

  #apply(work: Work): void {
    const stored = new Map(this.#stored)
    for (const [name, value] of work.writes) {
      if (value === undefined) stored.delete(name)
      else stored.set(name, value)
    }
    this.#stored = stored
  }
}

function seen({ before, writes }: Work): State {
  const state = new Map(before)
  for (const [name, value] of writes) {
    if (value === undefined) state.delete(name)
    else state.set(name, value)
  }
  return state
}

function read(state: State): [id: number, key: number][] {
  const found: [id: number, key: number][] = []
  for (const [name, number] of state) {
    if (name.startsWith('id ')) found.push([Number(name.slice(3)), state.get(`doc ${number}`)!])
  }
  return found.sort(([, a], [, b]) => b - a)
}
