/** Copies a text; without a clipboard (plain HTTP) it is shown, to be selected. */
import { useState } from 'preact/hooks'
import { t } from '../words/words.ts'

interface CopyButtonProps {
  readonly text: string
  readonly label: string
}

export function CopyButton({ text, label }: CopyButtonProps) {
  const [state, setState] = useState<'idle' | 'copied' | 'manual'>('idle')
  const copy = () => {
    if (navigator.clipboard === undefined) return setState('manual')
    navigator.clipboard.writeText(text).then(
      () => setState('copied'),
      () => setState('manual'),
    )
  }
  if (state === 'manual') {
    const select = (event: Event) => (event.currentTarget as HTMLTextAreaElement).select()
    return <textarea class="copied" readOnly aria-label={label} value={text} onFocus={select} />
  }
  return (
    <button type="button" onClick={copy}>
      {state === 'copied' ? t('copy.done') : label}
    </button>
  )
}

/** An identifier with a button that copies it. */
export function CopyId({ id }: { readonly id: string }) {
  return (
    <span class="copy-id">
      <span class="id">{id}</span> <CopyButton text={id} label={t('copy.copy')} />
    </span>
  )
}
