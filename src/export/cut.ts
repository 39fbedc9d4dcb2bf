/**
 * The lines of one file: those that wait, then those that follow the position in the order of their
 * ids. README.md says why none is missed.
 */
import type { ObjectId } from '../catalog/collections.ts'
import type { Catalog } from '../catalog/connection.ts'
import { type ExportDocument, exportAgain } from '../catalog/records/usage/export-documents.ts'
import type { Config } from '../config/schema.ts'

/** A line as it is stored; only the fields that were asked for, and these. */
export interface ExportedLine {
  readonly [name: string]: unknown
  readonly _id: ObjectId
  readonly stamp: string
}

export interface CutOptions {
  readonly catalog: Pick<Catalog, 'exportwaiting' | 'lines'>
  readonly config: Pick<Config['export'], 'types' | 'plans' | 'rates' | 'linesMax'>
  readonly progress: ExportDocument
  readonly tag: string
  /** The last id that a file may pass. */
  readonly until: ObjectId
  /** Top-level fields of lines. */
  readonly fields: readonly string[]
  /** How far the lines that wait were looked through in this run; null after the last one. */
  readonly scan: { from: string | null }
}

const PAGE = 1000
/** Fields by which lines are selected. */
export const SELECTING_FIELDS = ['stamp', 'type', 'state', 'plan', 'arate_key'] as const

/** Yields the lines of the file, and knows its end afterwards. */
export class Cut {
  readonly #options: CutOptions
  readonly #projection: Readonly<Record<string, 1>>
  #left: number
  #to: ObjectId

  constructor(options: CutOptions) {
    const { config, progress, fields } = options
    this.#options = options
    this.#left = config.linesMax
    this.#to = progress.after
    const names = [...fields, ...SELECTING_FIELDS]
    this.#projection = Object.fromEntries(names.map((name) => [name, 1]))
  }

  /** The last id that the file has passed. */
  get to(): ObjectId {
    return this.#to
  }

  /** Whether lines are left for another file. */
  get isFull(): boolean {
    return this.#left <= 0
  }

  async *pages(): AsyncGenerator<ExportedLine[]> {
    const { progress, until } = this.#options
    if (progress.planned === null) {
      yield* this.#due()
      yield* this.#passed(until)
      return
    }
    yield* this.#tagged()
    this.#left = Number.POSITIVE_INFINITY
    yield* this.#passed(progress.planned.to)
  }

  /** Waiting lines whose segments have ended get the tag of the file, and are read after that. */
  async *#due(): AsyncGenerator<ExportedLine[]> {
    const { catalog, progress, tag, scan } = this.#options
    while (scan.from !== null && this.#left > 0) {
      const entries = await catalog.exportwaiting
        .find({ _id: { $gt: scan.from } })
        .sort({ _id: 1 })
        .limit(Math.min(PAGE, this.#left))
        .toArray()
      const last = entries.at(-1)?._id
      scan.from = last ?? null
      const stamps = entries.map(({ _id }) => _id)
      const found = await this.#linesOf(stamps)
      const early = new Set(
        found
          .filter((line) => isOpen(line) || line._id.toHexString() > progress.after.toHexString())
          .map(({ stamp }) => stamp),
      )
      // Also the lines that retention has removed meanwhile, whose entries end with the file.
      const due = stamps.filter((stamp) => !early.has(stamp))
      if (due.length === 0) continue
      await catalog.exportwaiting.updateMany({ _id: { $in: due } }, { $set: { tag } })
      yield this.#take(
        (await this.#linesOf(due)).filter((line) => isWanted(line, this.#options.config)),
      )
    }
  }

  /** The lines that had this tag when the file was planned. */
  async *#tagged(): AsyncGenerator<ExportedLine[]> {
    const { catalog, tag } = this.#options
    for (let from = ''; ; ) {
      const entries = await catalog.exportwaiting
        .find({ tag, _id: { $gt: from } })
        .sort({ _id: 1 })
        .limit(PAGE)
        .toArray()
      const last = entries.at(-1)
      if (last === undefined) return
      from = last._id
      const lines = await this.#linesOf(entries.map(({ _id }) => _id))
      yield lines.filter((line) => isWanted(line, this.#options.config))
    }
  }

  async *#passed(until: ObjectId): AsyncGenerator<ExportedLine[]> {
    const { catalog } = this.#options
    while (this.#left > 0) {
      const page = (await catalog.lines
        .find({ _id: { $gt: this.#to, $lte: until } } as object, { projection: this.#projection })
        .sort({ _id: 1 })
        .limit(PAGE)
        .toArray()) as unknown as ExportedLine[]
      const wanted = page
        .filter((line) => isWanted(line, this.#options.config))
        .slice(0, this.#left)
      const isCut = wanted.length === this.#left
      const lines = await this.#withoutWaiting(wanted)
      this.#to = (isCut ? wanted.at(-1)?._id : page.at(-1)?._id) ?? until
      yield this.#take(lines)
      if (isCut) this.#left = 0
      else if (page.length < PAGE) {
        this.#to = until
        return
      }
    }
  }

  /** Lines of open segments wait from now on. */
  async #withoutWaiting(lines: readonly ExportedLine[]): Promise<ExportedLine[]> {
    if (lines.length === 0) return []
    const { exportwaiting } = this.#options.catalog
    const stamps = lines.map(({ stamp }) => stamp)
    const found = await exportwaiting.find({ _id: { $in: stamps } }).toArray()
    const waiting = new Set(found.map(({ _id }) => _id))
    const passing = lines.filter(({ stamp }) => !waiting.has(stamp))
    const open = passing.filter(isOpen)
    if (open.length > 0) {
      const entries = open.map(({ stamp }) => exportAgain(stamp))
      await exportwaiting.bulkWrite(entries, { ordered: false })
    }
    return passing.filter((line) => !isOpen(line))
  }

  async #linesOf(stamps: readonly string[]): Promise<ExportedLine[]> {
    const found = await this.#options.catalog.lines
      .find({ stamp: { $in: [...stamps] } }, { projection: this.#projection })
      .sort({ stamp: 1 })
      .toArray()
    return found as unknown as ExportedLine[]
  }

  #take(lines: ExportedLine[]): ExportedLine[] {
    this.#left -= lines.length
    return lines
  }
}

export function isWanted(
  { type, plan, arate_key: rate }: ExportedLine,
  { types, plans, rates }: Pick<Config['export'], 'types' | 'plans' | 'rates'>,
): boolean {
  const isIn = (values: readonly string[], value: unknown) =>
    values.length === 0 || values.includes(String(value))
  return isIn(types, type) && isIn(plans, plan) && isIn(rates, rate)
}

export function isOpen({ type, state }: ExportedLine): boolean {
  return type === 'realtime' && state === 'open'
}
