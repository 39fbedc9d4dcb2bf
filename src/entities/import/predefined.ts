/** Reads columns by the names that an export gives them. */
import { nearest } from '../../config/nearest.ts'
import { ExecutionError } from '../../requests/errors.ts'
import { parseJson } from '../../requests/json-text.ts'
import type { CollectionDefinition } from '../definitions/definition.ts'
import { hasTrait } from '../definitions/traits.ts'
import { type CellType, type Column, columnsOf } from '../export/columns.ts'
import { rateColumns } from '../export/rate-rows.ts'
import type { FieldDefinition } from '../fields/field-definition.ts'
import { cellText, jsonIn, listIn, rangeIn, setAlong } from './cells.ts'

type Fill = (target: Record<string, unknown>, cells: readonly string[]) => void

/** Throws `ExecutionError` for a column that exports do not have. */
export function predefinedReader(
  definition: CollectionDefinition,
  fields: readonly FieldDefinition[],
  header: readonly string[],
): Fill {
  const columns = hasTrait(definition, 'hasPriceLines')
    ? rateColumns(definition, fields)
    : columnsOf(definition, fields)
  const known = new Map(columns.map((column) => [column.name, column]))
  const used = header.map((cell) => usedColumn(cell.trim(), known))
  return (target, cells) => {
    for (const [index, column] of used.entries()) {
      if (column === null) continue
      const value = cellValue(cellText(cells, index), column)
      if (value !== undefined) setAlong(target, column.name, value)
    }
  }
}

/** Exported columns with generated values, which an import ignores. */
const GENERATED_COLUMNS: ReadonlySet<string> = new Set(['creation_time'])

function usedColumn(name: string, known: ReadonlyMap<string, Column>): Column | null {
  if (name === '') return null
  const column = known.get(name)
  if (column !== undefined) return GENERATED_COLUMNS.has(name) ? null : column
  const suggestion = nearest(name.slice(0, 64), [...known.keys()])
  const hint = suggestion === undefined ? '' : `: '${suggestion}' is`
  throw new ExecutionError(`column '${name.slice(0, 64)}' is not known${hint}`, 'unknown')
}

const FALSE: ReadonlySet<string> = new Set(['', 'false', 'FALSE', '0', 'null', 'NULL', 'no'])
const TRUE = /^(?:true|yes|1|on)$/i

const READERS: Readonly<Record<CellType, (text: string, name: string) => unknown>> = {
  text: (text) => text,
  date: (text) => text,
  percentage: (text) => text,
  list: (text, name) => (/^[[{]/.test(text) ? jsonIn(text, name) : listIn(text)),
  range: rangeIn,
  json: parseJson,
  // Other texts are refused by the check of the field.
  boolean: (text) => (FALSE.has(text) ? false : TRUE.test(text) || text),
}

/** Undefined if the cell is empty. */
function cellValue(text: string, { name, type }: Column): unknown {
  if (text === '' && type !== 'boolean') return undefined
  return READERS[type](text, name)
}
