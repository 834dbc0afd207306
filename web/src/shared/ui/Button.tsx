import type { ButtonHTMLAttributes, ReactNode } from 'react'
import { Icon, type IconName } from './Icon'

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: 'primary' | 'plain' | 'quiet' | 'danger'
  isCompact?: boolean
  icon?: IconName
  isBusy?: boolean
  children?: ReactNode
}

export function Button({ kind = 'plain', isCompact, icon, isBusy, children, className = '', ...rest }: Props) {
  const classes = `button button-${kind}${isCompact ? ' button-compact' : ''} ${className}`
  return (
    <button
      type="button"
      {...rest}
      className={classes}
      disabled={rest.disabled || isBusy}
      aria-busy={isBusy || undefined}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  )
}

export function IconButton({
  name,
  label,
  ...rest
}: { name: IconName; label: string } & ButtonHTMLAttributes<HTMLButtonElement>) {
  return (
    <button type="button" className="icon-button" aria-label={label} title={label} {...rest}>
      <Icon name={name} />
    </button>
  )
}
