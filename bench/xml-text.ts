/** A value as XML without attributes: a list is an element repeated. */
export function xmlOf(name: string, value: unknown): string {
  if (Array.isArray(value)) return value.map((member) => xmlOf(name, member)).join('')
  const inner =
    typeof value === 'object' && value !== null
      ? Object.entries(value).map(([key, member]) => xmlOf(key, member))
      : [String(value).replaceAll('&', '&amp;').replaceAll('<', '&lt;')]
  return `<${name}>${inner.join('')}</${name}>`
}
