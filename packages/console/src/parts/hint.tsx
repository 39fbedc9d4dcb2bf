/** A text of the API about a field. */

type HintPart = string | { readonly code: string }

/** Code stands between back ticks. */
export function hintParts(text: string): readonly HintPart[] {
  return text
    .split(/`([^`]+)`/)
    .map((part, index) => (index % 2 === 1 ? { code: part } : part))
    .filter((part) => part !== '')
}

export function Hint({ id, text }: { readonly id?: string; readonly text: string }) {
  return (
    <small id={id} class="muted">
      {hintParts(text).map((part, index) =>
        typeof part === 'string' ? part : <code key={index}>{part.code}</code>,
      )}
    </small>
  )
}
