/** A whole that was measured, as the parts of it that are known and the rest. */

export interface Part {
  name: string
  micros: number
}

export interface Parts {
  /** The known ones, and `rest`; together exactly the whole. */
  parts: Part[]
  /** What the known ones were multiplied by; 1 unless they came to more than the whole. */
  scale: number
}

/**
 * Known parts come from other measurements than the whole: where they are more than it, each is
 * made smaller by the same share, and nothing is left as the rest.
 */
export function partsOf(known: readonly Part[], whole: number, rest: string): Parts {
  const sum = known.reduce((total, { micros }) => total + micros, 0)
  const scale = sum > whole ? whole / sum : 1
  const parts = known.map(({ name, micros }) => ({ name, micros: micros * scale }))
  return { parts: [...parts, { name: rest, micros: Math.max(0, whole - sum) }], scale }
}
