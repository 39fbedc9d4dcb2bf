/** Fields that subscribers are found by: those of every installation, and further ones. */

const FIELD = /^[A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*$/

/** Whether a field can be one: a plain path, no operator. */
function isIdentifierField(field: string): boolean {
  return FIELD.test(field)
}

/**
 * What a document must have in the field to be found by the value; null: no document can. `sid` is
 * stored as an integer ("0018" and "18" are one), `msisdn` and `imsi` as texts, others either way.
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

/** The values by which a document is found in a field. */
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
