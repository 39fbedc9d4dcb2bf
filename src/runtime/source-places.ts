/** Places in the sources for those in built files, which are bundles with source maps beside them. */
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
const CONTINUES = 32

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
      source = sourceOf(maps.get(file) ?? null, Number(line), Number(column)) ?? place
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
 * Reads the mappings up to the place and keeps nothing: as an object of Node a large map takes 0.3 s
 * and tens of megabytes, in a process that has other work.
 */
function sourceOf(map: SourceMap | null, line: number, column: number): string | null {
  if (map === null) return null
  let [source, sourceLine, sourceColumn] = [0, 0, 0]
  let found: string | null = null
  for (const [index, segments] of map.mappings.split(';', line).entries()) {
    let builtColumn = 0
    for (const segment of segments.split(',')) {
      const [toColumn = 0, toSource, toLine = 0, toSourceColumn = 0] = numbersOf(segment)
      builtColumn += toColumn
      if (toSource === undefined) continue
      source += toSource
      sourceLine += toLine
      sourceColumn += toSourceColumn
      if (index !== line - 1 || builtColumn >= column) continue
      const path = map.sources[source]?.replace(/^(?:\.\.\/)+/, '')
      found = `${path}:${sourceLine + 1}:${sourceColumn + 1}`
    }
  }
  return found
}

/** The numbers of a segment: base 64 with a bit for more digits, and the sign in the lowest bit. */
function numbersOf(segment: string): number[] {
  const numbers: number[] = []
  let [number, shift] = [0, 0]
  for (let at = 0; at < segment.length; at += 1) {
    const digit = VALUES[segment.charCodeAt(at)] ?? 0
    number += (digit & (CONTINUES - 1)) << shift
    shift += 5
    if (digit >= CONTINUES) continue
    numbers.push(number & 1 ? -(number >> 1) : number >> 1)
    number = 0
    shift = 0
  }
  return numbers
}
