/** Control totals: sums of columns that a trailer states, of units or money. Exact. */
import { arrayAt, FieldError, type Fields, isUnset, objectAt } from '../../domain/fields.ts'
import type { FieldProblem, Message } from '../file-type.ts'
import { type Path, pathAt } from '../paths.ts'

type ParseTrailer = (text: string) => { message: Message | null; problem: FieldProblem | null }

export interface ControlSums {
  readonly count: number
  /** Adds the columns of a record; a column that is no decimal number adds nothing. */
  add(sums: readonly bigint[], message: Message): bigint[]
  /** How the sums differ from those of a trailer; null if they do not. */
  problem(trailer: string, sums: readonly bigint[]): FieldProblem | null
}

const DECIMALS = 12
const DECIMAL = new RegExp(`^(-?)(\\d{1,30})(?:\\.(\\d{1,${DECIMALS}}))?$`)

/** Sums of no records. */
export function noSums(count: number): bigint[] {
  return Array.from({ length: count }, () => 0n)
}

/** `parse`: of trailers. Null if the section has none. Throws `FieldError`. */
export function controlSumsAt(
  { control_sums: value }: Fields,
  path: string,
  parse: () => ParseTrailer,
): ControlSums | null {
  if (isUnset(value)) return null
  const pairs = arrayAt(value, path).map((member, index) => {
    const pair = objectAt(member, `${path}.${index}`, ['field', 'sum_of'])
    const at = (key: string) => pathAt(pair[key], `${path}.${index}.${key}`)
    return { field: at('field'), column: at('sum_of') }
  })
  if (pairs.length === 0) throw new FieldError(path, 'must have at least one sum')
  const parseTrailer = parse()
  return {
    count: pairs.length,
    add: (sums, message) =>
      pairs.map(({ column }, index) => (sums[index] ?? 0n) + (scaledIn(column, message) ?? 0n)),
    problem(text, sums) {
      const { message, problem } = parseTrailer(text)
      if (message === null) return problem
      for (const [index, { field, column }] of pairs.entries()) {
        const stated = scaledIn(field, message)
        if (stated === null) return { field: field.name, why: 'must be a decimal number' }
        const sum = sums[index] ?? 0n
        if (stated === sum) continue
        const why = `is ${decimal(stated)}, and the records have ${decimal(sum)} of ${column.name}`
        return { field: field.name, why }
      }
      return null
    },
  }
}

/** In units of the last decimal; null if it is no decimal number. */
function scaledIn(path: Path, message: Message): bigint | null {
  const value = path.in(message)
  const text = typeof value === 'number' ? String(value) : value
  const found = typeof text === 'string' ? DECIMAL.exec(text.trim()) : null
  if (found === null) return null
  const [, sign, whole = '', fraction = ''] = found
  return BigInt(`${sign}${whole}${fraction.padEnd(DECIMALS, '0')}`)
}

function decimal(scaled: bigint): string {
  const digits = String(scaled < 0n ? -scaled : scaled).padStart(DECIMALS + 1, '0')
  const fraction = digits.slice(-DECIMALS).replace(/0+$/, '')
  const text = digits.slice(0, -DECIMALS) + (fraction === '' ? '' : `.${fraction}`)
  return scaled < 0n ? `-${text}` : text
}
