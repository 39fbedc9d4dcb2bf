/** Every message format, and the file types that some of them need. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Product } from '../../product/product.ts'
import { tollgate } from '../command.ts'
import { type DialectAdapter, plainJson } from './adapter.ts'
import { diameterByCode, diameterByName } from './diameter.ts'
import { GATEWAY, gateway } from './gateway.ts'
import { keyValue, xml } from './texts.ts'
import { TOTALS, totals } from './totals.ts'

/** Stateless: one adapter serves all network elements. */
export const DIALECTS = [plainJson, keyValue, xml, diameterByName, diameterByCode, gateway]

/** Network elements use each of the formats in turn, and one more that counts totals. */
export function inTurn(index: number): DialectAdapter {
  return DIALECTS[index % (DIALECTS.length + 1)] ?? totals()
}

/** The names of all formats that elements of `inTurn` use. */
export const NAMES = [...DIALECTS.map(({ name }) => name), totals().name]

/**
 * The formats of sixteen elements: five speak Diameter over TCP, five plain JSON, one each of the
 * other formats, and one counts totals.
 */
export function inTurnWith(wire: DialectAdapter): (index: number) => DialectAdapter {
  const [json = plainJson, ...others] = DIALECTS
  const often = Array.from({ length: 5 }, () => [json, wire]).flat()
  const formats = [...others, ...often]
  return (index) => formats[index % (formats.length + 1)] ?? totals()
}

/** Stores documents as an operator would. Throws the error output of the command. */
export async function setFileTypes(product: Product, ...documents: object[]): Promise<void> {
  const file = join(product.folder, 'file-types.json')
  writeFileSync(file, JSON.stringify(documents))
  const { code, stderr } = await tollgate(product, ['filetype', 'set', file])
  if (code !== 0) throw new Error(stderr)
}

/** The file types that `DIALECTS` and `inTurn` need besides the built-in ones. */
export function setAllFileTypes(product: Product): Promise<void> {
  return setFileTypes(product, GATEWAY, TOTALS)
}
