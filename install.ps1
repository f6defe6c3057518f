# Installs Updraft for one user on Windows: from a release archive, an unpacked one, or this checkout.
# What it installs is listed in PREFIX\installed.txt, by which -Uninstall removes it.
#
#   install.ps1 [-Prefix DIR] [-Archive FILE|URL] [-Sha256 SUM] [-BuildProfile release|dist] [-Workspace DIR] [-DryRun] [-Uninstall] [-Help]
param(
    [string]$Prefix = $(if ($env:UPDRAFT_PREFIX) { $env:UPDRAFT_PREFIX } else { Join-Path $env:LOCALAPPDATA 'Programs\Updraft' }),
    [string]$Archive = $env:UPDRAFT_ARCHIVE,
    [string]$Sha256 = $env:UPDRAFT_SHA256,
    [ValidateSet('release', 'dist')][string]$BuildProfile = 'release',
    [string]$Workspace,
    [switch]$DryRun,
    [switch]$Uninstall,
    [switch]$Help
)
Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'
$List = Join-Path $Prefix 'installed.txt'
$Bin = Join-Path $Prefix 'bin'
$Scratch = Join-Path ([IO.Path]::GetTempPath()) "updraft-install-$PID"

function Stop-Here([string]$Message, [string]$Hint) {
    [Console]::Error.WriteLine("error: $Message")
    if ($Hint) { [Console]::Error.WriteLine("  hint: $Hint") }
    exit 1
}

# The folder with the program and all that goes with it, from an archive whose checksum was compared.
function Expand-Release {
    New-Item -ItemType Directory -Force $Scratch | Out-Null
    $file = $Archive
    if ($Archive -match '://') {
        $file = Join-Path $Scratch 'archive.zip'
        Invoke-WebRequest -UseBasicParsing $Archive -OutFile $file
        if (-not $Sha256) {
            Invoke-WebRequest -UseBasicParsing "$Archive.sha256" -OutFile "$file.sha256"
        }
    }
    if (-not (Test-Path $file)) { Stop-Here "there is no file $file" }
    if (-not $Sha256) {
        if (-not (Test-Path "$file.sha256")) { Stop-Here "there is no checksum $file.sha256" 'name the checksum with -Sha256' }
        $script:Sha256 = ((Get-Content "$file.sha256" -TotalCount 1) -split ' ')[0]
    }
    $found = (Get-FileHash -Algorithm SHA256 $file).Hash
    if ($found -ne $Sha256) { Stop-Here "the archive is damaged or another one: its SHA-256 is $found, expected was $Sha256" }
    Expand-Archive -Force $file (Join-Path $Scratch 'unpacked')
    return (Get-ChildItem -Directory (Join-Path $Scratch 'unpacked') | Select-Object -First 1).FullName
}

function Build-Release {
    if (-not (Get-Command cargo -ErrorAction SilentlyContinue)) {
        Stop-Here 'no cargo to build with' 'install Rust from https://rustup.rs, or name a release archive with -Archive'
    }
    Push-Location $PSScriptRoot
    try {
        cargo build --locked --profile $BuildProfile -p updraft | Out-Host
        if ($LASTEXITCODE -ne 0) { Stop-Here 'the build failed' }
        $target = (cargo metadata --format-version 1 --no-deps --offline | ConvertFrom-Json).target_directory
    } finally { Pop-Location }
    $folder = Join-Path $Scratch 'built'
    New-Item -ItemType Directory -Force $folder | Out-Null
    Copy-Item (Join-Path $target "$BuildProfile\updraft.exe") $folder
    Copy-Item (Join-Path $PSScriptRoot 'LICENSE'), (Join-Path $PSScriptRoot 'deploy\env.sample') $folder
    return $folder
}

# The user's PATH, with the folder or without it.
function Set-UserPath([bool]$With) {
    $parts = @([Environment]::GetEnvironmentVariable('Path', 'User') -split ';' | Where-Object { $_ -and $_ -ne $Bin })
    if ($With) { $parts += $Bin }
    [Environment]::SetEnvironmentVariable('Path', ($parts -join ';'), 'User')
}

function Remove-Installed {
    if (-not (Test-Path $List)) { Stop-Here "nothing is installed below $Prefix" 'name the folder you installed to with -Prefix' }
    foreach ($file in Get-Content $List) {
        Write-Output "  remove  $file"
        if (-not $DryRun) { Remove-Item -Force -ErrorAction SilentlyContinue $file }
    }
    if ($DryRun) { return }
    Remove-Item -Force $List
    Set-UserPath $false
    foreach ($folder in $Bin, $Prefix) {
        if ((Test-Path $folder) -and -not (Get-ChildItem -Force $folder)) { Remove-Item $folder }
    }
    Write-Output 'uninstalled; runs and settings stay'
}

function Install-Release {
    if ($DryRun -and ($Archive -or -not (Test-Path (Join-Path $PSScriptRoot 'updraft.exe')))) {
        Write-Output "would install updraft.exe to $Bin, with env.sample and LICENSE in $Prefix"
        return
    }
    $from = if ($Archive) { Expand-Release }
    elseif (Test-Path (Join-Path $PSScriptRoot 'updraft.exe')) { $PSScriptRoot }
    elseif (Test-Path (Join-Path $PSScriptRoot 'Cargo.toml')) { Build-Release }
    else { Stop-Here 'there is nothing to install from beside this script' 'name a release archive with -Archive' }
    $wanted = [ordered]@{
        (Join-Path $Bin 'updraft.exe')    = Join-Path $from 'updraft.exe'
        (Join-Path $Prefix 'env.sample')  = Join-Path $from 'env.sample'
        (Join-Path $Prefix 'LICENSE.txt') = Join-Path $from 'LICENSE'
    }
    foreach ($place in $wanted.Keys) { Write-Output "  put   $place" }
    if ($DryRun) { return }
    New-Item -ItemType Directory -Force $Bin | Out-Null
    Set-Content $List @($wanted.Keys)
    foreach ($place in $wanted.Keys) { Copy-Item -Force $wanted[$place] $place }
    Set-UserPath $true
    if ($Workspace) {
        $own = Join-Path $Workspace '.env'
        if (-not (Test-Path $own)) { Copy-Item (Join-Path $from 'env.sample') $own }
        New-Item -ItemType Directory -Force (Join-Path $Workspace 'artifacts') | Out-Null
    }
    & (Join-Path $Bin 'updraft.exe') --version
    Write-Output 'installed; open a new terminal, and `updraft doctor` says what works here'
}

try {
    if ($Help) { Get-Content $PSCommandPath -TotalCount 4 | ForEach-Object { $_ -replace '^# ?', '' } }
    elseif ($Uninstall) { Remove-Installed }
    else { Install-Release }
} finally {
    if (Test-Path $Scratch) { Remove-Item -Recurse -Force $Scratch }
}
