/** A measured whole, divided into its known parts and the rest. */

export interface Part {
  name: string
  micros: number
}

export interface Parts {
  /** The known parts and `rest`; their sum is exactly the whole. */
  parts: Part[]
  /** The factor applied to the known parts; 1 unless their sum exceeded the whole. */
  scale: number
}

/**
 * Known parts come from other measurements than the whole: if their sum exceeds it, each is reduced
 * by the same factor, and the rest is zero.
 */
export function partsOf(known: readonly Part[], whole: number, rest: string): Parts {
  const sum = known.reduce((total, { micros }) => total + micros, 0)
  const scale = sum > whole ? whole / sum : 1
  const parts = known.map(({ name, micros }) => ({ name, micros: micros * scale }))
  return { parts: [...parts, { name: rest, micros: Math.max(0, whole - sum) }], scale }
}
