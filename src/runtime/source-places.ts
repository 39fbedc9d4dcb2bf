/** Places in the sources for those in built files: bundles, with source maps beside them. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

interface SourceMap {
  readonly sources: readonly string[]
  readonly mappings: string
}

const BUILT_PLACE = /file:\/\/([^\s()]*)(\/dist\/src\/[^\s()]+\.js):(\d+):(\d+)/g

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const VALUES = new Uint8Array(128)
for (let value = 0; value < DIGITS.length; value += 1) VALUES[DIGITS.charCodeAt(value)] = value
/** Base 64: five bits of a number, and this one if there are more. The lowest bit is the sign. */
const CONTINUES = 32
const SEGMENT_END = ','.charCodeAt(0)
const LINE_END = ';'.charCodeAt(0)

/** By place in a built file: an error that repeats is translated once. */
const known = new Map<string, string>()

/** A stack with places such as `src/cli/run.ts:12:3`; those without a source map stay. */
export function withSources(stack: string): string {
  const maps = new Map<string, SourceMap | null>()
  return stack.replace(BUILT_PLACE, (place, root: string, path: string, line, column) => {
    const file = fileURLToPath(`file://${root}${path}`)
    let source = known.get(place)
    if (source === undefined) {
      if (!maps.has(file)) maps.set(file, readMap(`${file}.map`))
      const map = maps.get(file) ?? null
      source = (map && sourceOf(map, Number(line), Number(column))) ?? place
      known.set(place, source)
    }
    return source
  })
}

function readMap(file: string): SourceMap | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as SourceMap
  } catch {
    return null
  }
}

/**
 * Reads the mappings up to the place, which takes milliseconds, and keeps nothing: as an object of
 * Node a large map takes 0.3 s and tens of megabytes, in a process that has other work.
 */
function sourceOf({ mappings, sources }: SourceMap, line: number, column: number): string | null {
  // The fields of a segment are the column in the built file, the index, line and column of the
  // source, and a name, as differences to the previous segment; the first one within its line.
  const sums = new Int32Array(5)
  let [builtLine, field, number, shift] = [1, 0, 0, 0]
  let found = new Int32Array(0)
  for (let at = 0; at <= mappings.length && builtLine <= line; at += 1) {
    const code = at === mappings.length ? SEGMENT_END : mappings.charCodeAt(at)
    if (code !== SEGMENT_END && code !== LINE_END) {
      const digit = VALUES[code] ?? 0
      number += (digit & (CONTINUES - 1)) << shift
      shift += 5
      if (digit >= CONTINUES) continue
      sums[field] = (sums[field] ?? 0) + (number & 1 ? -(number >> 1) : number >> 1)
      field += 1
      number = 0
      shift = 0
      continue
    }
    if (builtLine === line && field > 1 && (sums[0] ?? 0) < column) found = sums.slice()
    field = 0
    if (code === SEGMENT_END) continue
    builtLine += 1
    sums[0] = 0
  }
  const [, source, sourceLine = 0, sourceColumn = 0] = found
  if (source === undefined) return null
  // From the folder of the file: up to the root, and down.
  const path = sources[source]?.replace(/^(?:\.\.\/)+/, '')
  return `${path}:${sourceLine + 1}:${sourceColumn + 1}`
}
