/** Identifying fields of subscribers: the predefined ones, and those of the installation. */

const FIELD = /^[A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*$/

/** Whether the field is a plain path without operators. */
function isIdentifierField(field: string): boolean {
  return FIELD.test(field)
}

/**
 * The stored value, or filter, that matches the value in this field; null if no document can match.
 * `sid` is stored as an integer ("0018" equals "18"), `msisdn` and `imsi` as strings, other fields
 * as either.
 */
export function storedAs(field: string, value: string): object | string | number | null {
  if (field === 'sid') return sidFrom(value)
  if (field === 'msisdn' || field === 'imsi') return value
  if (!isIdentifierField(field)) return null
  const number = Number(value)
  return String(number) === value && Number.isSafeInteger(number) ? { $in: [value, number] } : value
}

function sidFrom(value: string): number | null {
  const sid = /^\d{1,16}$/.test(value) ? Number(value) : 0
  return Number.isSafeInteger(sid) && sid > 0 ? sid : null
}

/** The values of a field by which a document is found. */
export function identifiersIn(document: object, field: string): string[] {
  let value: unknown = document
  for (const step of field.split('.')) {
    if (typeof value !== 'object' || value === null) return []
    value = (value as Readonly<Record<string, unknown>>)[step]
  }
  const values = Array.isArray(value) ? value : [value]
  return values.flatMap((one) =>
    typeof one === 'string' || typeof one === 'number' ? [String(one)] : [],
  )
}
