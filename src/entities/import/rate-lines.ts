/**
 * Groups the lines of a rate import: lines with the same key and date are one rate. They may be
 * anywhere in the file; the rate is complete with its last line.
 */
import type { Fields } from '../../domain/fields.ts'
import { EntityRuleError } from '../../requests/errors.ts'
import { isEqual } from '../timeline/set-fields.ts'
import { quotedExcerpt } from './cells.ts'
import type { InvalidRow, MappedRow } from './mapping.ts'
import { type LinePrice, rateLineOf } from './rate-line.ts'
import type { ImportedPrice, Unit } from './unit.ts'

interface Line {
  row: MappedRow
  fields: Fields
  price: LinePrice | null
}

type AnyLine = Line | { row: MappedRow; problem: string }

export class RateLines {
  readonly #counts = new Map<string, number>()
  readonly #open = new Map<string, AnyLine[]>()

  /** First pass: counts the lines of each rate. */
  count(row: MappedRow | InvalidRow): void {
    const key = 'problem' in row ? null : groupOf(row)
    if (key !== null) this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1)
  }

  /** Second pass, in the same order. Null if further lines of the rate follow. */
  add(row: MappedRow | InvalidRow): Unit | null {
    if ('problem' in row) return { labels: [row.label], problem: row.problem }
    const key = groupOf(row)
    if (key === null) return unitOf([lineOf(row)])
    const lines = this.#open.get(key) ?? []
    lines.push(lineOf(row))
    this.#open.set(key, lines)
    if (lines.length < (this.#counts.get(key) ?? 0)) return null
    this.#open.delete(key)
    return unitOf(lines)
  }
}

/** Null if the line has no key. */
function groupOf({ update, updaterValue }: MappedRow): string | null {
  const key = update['key'] ?? updaterValue
  if (typeof key !== 'string' || key === '') return null
  return JSON.stringify([key, update['effective_date'] ?? null, update['from'] ?? null])
}

/** An invalid line fails all lines of its rate. */
function lineOf(row: MappedRow): AnyLine {
  try {
    return { row, ...rateLineOf(row.update) }
  } catch (error) {
    if (!(error instanceof EntityRuleError)) throw error
    return { row, problem: error.message }
  }
}

function unitOf(lines: readonly AnyLine[]): Unit {
  const labels = lines.map(({ row }) => row.label)
  const valid: Line[] = []
  for (const line of lines) {
    if (!('problem' in line)) {
      valid.push(line)
      continue
    }
    const where = lines.length === 1 ? '' : `row ${line.row.label}: `
    return { labels, problem: `${where}${line.problem}` }
  }
  try {
    return merged(labels, valid)
  } catch (error) {
    if (!(error instanceof EntityRuleError)) throw error
    return { labels, problem: error.message }
  }
}

function merged(labels: string[], lines: readonly Line[]): Unit {
  const [first] = lines as [Line]
  const fields = mergedFields(lines)
  const own = lines.filter(({ price }) => price === null || price.offer === null)
  return {
    labels,
    update: fields,
    linkerValue: '',
    updaterValue: first.row.updaterValue,
    prices: byUsaget(own.flatMap(({ price }) => (price === null ? [] : [price]))),
    overrides: overridesOf(lines),
    ownLabels: own.map(({ row }) => row.label),
  }
}

function mergedFields(lines: readonly Line[]): Record<string, unknown> {
  const result: Record<string, unknown> = {}
  const from = new Map<string, string>()
  for (const { fields, row } of lines) {
    for (const [name, value] of Object.entries(fields)) {
      if (!Object.hasOwn(result, name)) {
        result[name] = value
        from.set(name, row.label)
      } else if (!isEqual(result[name], value)) {
        throw new EntityRuleError(
          `rows ${from.get(name)} and ${row.label} are one rate, and disagree on ${name}: ` +
            `${quotedValue(result[name])} and ${quotedValue(value)}`,
          'refused',
        )
      }
    }
  }
  return result
}

function quotedValue(value: unknown): string {
  return quotedExcerpt(typeof value === 'string' ? value : JSON.stringify(value))
}

/** Steps sorted by `from`; without `from` they keep their order. */
function byUsaget(prices: readonly LinePrice[]): [string, Fields[]][] {
  const tiers = new Map<string, Fields[]>()
  for (const price of prices) {
    tiers.set(price.usaget, [...(tiers.get(price.usaget) ?? []), ...price.tiers])
  }
  return [...tiers].map(([usaget, steps]) => [usaget, inOrder(steps)])
}

function inOrder(tiers: Fields[]): Fields[] {
  const isOrdered = tiers.every(({ from }) => typeof from === 'number')
  return isOrdered ? tiers.toSorted((a, b) => Number(a['from']) - Number(b['from'])) : tiers
}

function overridesOf(lines: readonly Line[]): ImportedPrice[] {
  const groups = new Map<string, Omit<ImportedPrice, 'usagets'> & { prices: LinePrice[] }>()
  for (const { price, row } of lines) {
    if (price === null || price.offer === null) continue
    const { collection, name } = price.offer
    const key = `${collection}/${name}`
    const group = groups.get(key) ?? { collection, name, labels: [], prices: [] }
    group.labels.push(row.label)
    group.prices.push(price)
    groups.set(key, group)
  }
  return [...groups.values()].map(({ prices, ...offer }) => {
    return { ...offer, usagets: byUsaget(prices) }
  })
}
